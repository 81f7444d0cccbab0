// Command goload measures HTTP targets beside each other with kube-apiserver's transport: a block of
// requests goes to each target in turn, so that whatever else the machine does meets all of them.
//
// It reads one plan as JSON from standard input and prints the blocks of each target as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// plan is what is asked for.
type plan struct {
	Targets     []target `json:"targets"`
	Connections int      `json:"connections"` // requests in flight
	Requests    int      `json:"requests"`    // of a block
	Rounds      int      `json:"rounds"`
	Warmups     int      `json:"warmups"` // rounds before them that are not reported
}

// target is where requests go and what they carry.
type target struct {
	URL    string `json:"url"`
	CA     string `json:"ca"`     // PEM file of the CA to trust; empty: plain HTTP
	Token  string `json:"token"`  // bearer token; empty: none
	Bodies string `json:"bodies"` // file with a JSON body a line, sent in turn
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var p plan
	if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	var peers []*peer
	for _, t := range p.Targets {
		one, err := newPeer(t)
		if err != nil {
			return err
		}
		peers = append(peers, one)
	}
	blocks := make([][]block, len(peers))
	for round := range p.Warmups + p.Rounds {
		for n := range peers {
			// Each round begins with another target: none is always the one after the slowest.
			at := (n + round) % len(peers)
			made := peers[at].block(p.Connections, p.Requests)
			if round >= p.Warmups {
				blocks[at] = append(blocks[at], made)
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(blocks)
}

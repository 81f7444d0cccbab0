// Command transport is a client with kube-apiserver's transport settings, for proofs that a Python
// client cannot give: Go dials spare connections, finishes their TLS handshake and leaves them silent.
//
// Each subcommand prints one JSON object and exits with 0; what it saw is for the caller to judge.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// options are the flags of all subcommands.
type options struct {
	url, ca, name      string
	bursts, calls      int
	each, silent, kept int
	accept             int
	gap, deadline      time.Duration
	lasts              time.Duration
	newCert, newKey    string
	certfile, keyfile  string
}

var commands = map[string]func(options) (any, error){
	"burst":  burst,
	"silent": silent,
	"spaced": spaced,
	"swap":   swap,
	"hold":   hold,
	"rotate": rotate,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: transport burst|silent|spaced|swap|hold|rotate [flags]")
		os.Exit(2)
	}
	var o options
	f := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	f.StringVar(&o.url, "url", "", "where to POST")
	f.StringVar(&o.ca, "ca", "", "PEM file of the CA to trust; none: plain HTTP")
	f.StringVar(&o.name, "name", "localhost", "server name to verify")
	f.IntVar(&o.bursts, "bursts", 4, "bursts")
	f.IntVar(&o.calls, "calls", 20, "concurrent callers of a burst, or spaced calls")
	f.IntVar(&o.each, "each", 3, "calls of each caller")
	f.IntVar(&o.silent, "silent", 0, "connections that finish the handshake and say nothing")
	f.IntVar(&o.kept, "kept", 0, "connections kept idle after a call")
	f.IntVar(&o.accept, "accept", 200, "the status of a good answer")
	f.DurationVar(&o.gap, "gap", time.Second, "time between bursts or calls")
	f.DurationVar(&o.deadline, "deadline", 5*time.Second, "deadline of a call")
	f.DurationVar(&o.lasts, "lasts", time.Minute, "how long to call under rotations")
	f.StringVar(&o.newCert, "new-cert", "", "certificate to put in place")
	f.StringVar(&o.newKey, "new-key", "", "key to put in place")
	f.StringVar(&o.certfile, "certfile", "", "the certificate that the server watches")
	f.StringVar(&o.keyfile, "keyfile", "", "the key that the server watches")
	_ = f.Parse(os.Args[2:])

	result, err := commands[os.Args[1]](o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

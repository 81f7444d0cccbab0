package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"
)

// report is what the calls of a client came to; times are in milliseconds.
type report struct {
	Calls  int      `json:"calls"`
	Errors []string `json:"errors"`
	Dials  int      `json:"dials"`
	P50    float64  `json:"p50"`
	P99    float64  `json:"p99"`
	Max    float64  `json:"max"`
}

func (c *client) report() report {
	c.mu.Lock()
	defer c.mu.Unlock()
	sort.Slice(c.latencies, func(i, j int) bool { return c.latencies[i] < c.latencies[j] })
	at := func(share float64) float64 {
		if len(c.latencies) == 0 {
			return 0
		}
		return milliseconds(c.latencies[int(share*float64(len(c.latencies)-1))])
	}
	errors := append([]string{}, c.errors...)
	return report{len(c.latencies), errors, c.dialled, at(0.5), at(0.99), at(1)}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// burst makes bursts of concurrent callers, each of which calls several times.
func burst(o options) (any, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	for b := range o.bursts {
		if b > 0 {
			time.Sleep(o.gap)
		}
		var callers sync.WaitGroup
		for range o.calls {
			callers.Add(1)
			go func() {
				defer callers.Done()
				for range o.each {
					c.call()
				}
			}()
		}
		callers.Wait()
	}
	return c.report(), nil
}

// silent holds silent connections and makes one call beside them.
func silent(o options) (any, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	held, err := c.handshakes(o.silent)
	if err != nil {
		return nil, err
	}
	time.Sleep(300 * time.Millisecond)
	c.call()
	for _, conn := range held {
		conn.Close()
	}
	return c.report(), nil
}

// spaced makes calls one after the other, a gap apart.
func spaced(o options) (any, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	for n := range o.calls {
		if n > 0 {
			time.Sleep(o.gap)
		}
		c.call()
	}
	return c.report(), nil
}

// swapped is what a client sees of a certificate's replacement.
type swapped struct {
	Report  report  `json:"report"`
	Reused  bool    `json:"reused"`  // the call after the swap went over the old connection
	Changed bool    `json:"changed"` // a new handshake saw another serial number
	After   float64 `json:"after"`   // milliseconds from the replacement to that handshake
}

// swap replaces the server's pair under an open connection, then shakes hands anew until it shows.
func swap(o options) (any, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	c.call()
	before, err := c.serial()
	if err != nil {
		return nil, err
	}
	for source, target := range map[string]string{o.newCert: o.certfile, o.newKey: o.keyfile} {
		if err := replace(source, target); err != nil {
			return nil, err
		}
	}
	var result swapped
	for start := time.Now(); time.Since(start) < 8*time.Second; time.Sleep(100 * time.Millisecond) {
		after, err := c.serial()
		if err != nil {
			return nil, err
		}
		if after != before {
			result.Changed, result.After = true, milliseconds(time.Since(start))
			break
		}
	}
	result.Reused = c.call()
	result.Report = c.report()
	return result, nil
}

func (c *client) serial() (string, error) {
	conn, err := c.handshake()
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

func replace(source, target string) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := os.WriteFile(target+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(target+".new", target)
}

// hold keeps connections open, silent ones and idle ones, until its standard input ends.
func hold(o options) (any, error) {
	c, err := newClient(o)
	if err != nil {
		return nil, err
	}
	held, err := c.handshakes(o.silent)
	if err != nil {
		return nil, err
	}
	// At the same time, so that each needs a connection of its own.
	var callers sync.WaitGroup
	for range o.kept {
		callers.Add(1)
		go func() { defer callers.Done(); c.call() }()
	}
	callers.Wait()
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	for _, conn := range held {
		conn.Close()
	}
	return c.report(), nil
}

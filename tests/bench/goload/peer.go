package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// block is what the requests of one block came to; times are in milliseconds.
type block struct {
	P50    float64 `json:"p50"`
	P99    float64 `json:"p99"`
	Rate   float64 `json:"rate"`   // requests per second
	Errors int     `json:"errors"` // no answer, or one that is not 2xx
	First  string  `json:"first"`  // the first of them
	Dials  int     `json:"dials"`
}

// peer is a client of one target.
type peer struct {
	target
	client *http.Client
	bodies [][]byte
	sent   atomic.Int64
	dials  atomic.Int64
}

// newPeer has the transport of kube-apiserver 1.36 for webhooks: apiserver/pkg/util/webhook/client.go
// forces http/1.1, client-go/transport/cache.go sets the rest.
func newPeer(t target) (*peer, error) {
	content, err := os.ReadFile(t.Bodies)
	if err != nil {
		return nil, err
	}
	p := &peer{target: t, bodies: bytes.Split(bytes.TrimSpace(content), []byte("\n"))}
	transport := &http.Transport{
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		p.dials.Add(1)
		return dialer.DialContext(ctx, network, address)
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", t.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, NextProtos: []string{"http/1.1"}}
	}
	p.client = &http.Client{Timeout: 30 * time.Second, Transport: transport}
	return p, nil
}

// block sends so many requests, so many of them at a time. Connections are kept for the next block.
func (p *peer) block(connections, requests int) block {
	latencies := make([]float64, requests)
	failed := make([]error, requests)
	dialled := p.dials.Load()
	var next atomic.Int64
	var callers sync.WaitGroup
	start := time.Now()
	for range connections {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for n := next.Add(1) - 1; n < int64(requests); n = next.Add(1) - 1 {
				began := time.Now()
				failed[n] = p.call()
				latencies[n] = float64(time.Since(began).Nanoseconds()) / 1e6
			}
		}()
	}
	callers.Wait()
	made := block{Rate: float64(requests) / time.Since(start).Seconds()}
	made.Dials = int(p.dials.Load() - dialled)
	for _, err := range failed {
		if err != nil {
			if made.Errors++; made.Errors == 1 {
				made.First = err.Error()
			}
		}
	}
	sort.Float64s(latencies)
	made.P50, made.P99 = latencies[requests/2], latencies[requests*99/100]
	return made
}

// call POSTs the next body and reads the whole answer.
func (p *peer) call() error {
	body := p.bodies[int(p.sent.Add(1)-1)%len(p.bodies)]
	request, err := http.NewRequest(http.MethodPost, p.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if p.Token != "" {
		request.Header.Set("Authorization", "Bearer "+p.Token)
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return fmt.Errorf("%s: %.300s", answer.Status, content)
	}
	return nil
}

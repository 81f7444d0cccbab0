package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// client is one http.Client and what it has seen.
type client struct {
	http  *http.Client
	trust *tls.Config
	url   string
	body  []byte
	good  int

	mu        sync.Mutex
	dialled   int
	errors    []string
	latencies []time.Duration
}

// newClient has the transport of kube-apiserver 1.36 for webhooks: apiserver/pkg/util/webhook/client.go
// forces http/1.1, client-go/transport/cache.go sets the rest.
func newClient(o options) (*client, error) {
	trust, err := trustOf(o)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	c := &client{trust: trust, url: o.url, body: review(6000), good: o.accept}
	c.http = &http.Client{Timeout: o.deadline, Transport: &http.Transport{
		TLSHandshakeTimeout: 10 * time.Second,
		TLSClientConfig:     trust,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c.mu.Lock()
			c.dialled++
			c.mu.Unlock()
			return dialer.DialContext(ctx, network, address)
		},
	}}
	return c, nil
}

func trustOf(o options) (*tls.Config, error) {
	if o.ca == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", o.ca)
	}
	return &tls.Config{RootCAs: pool, ServerName: o.name, NextProtos: []string{"http/1.1"}}, nil
}

// review is a JSON body of about n bytes, like a review of a pod.
func review(n int) []byte {
	return []byte(`{"kind":"AdmissionReview","padding":"` + strings.Repeat("x", n) + `"}`)
}

// call POSTs once, records how it went and tells whether the connection was used before.
func (c *client) call() (reused bool) {
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) { reused = got.Reused }}
	ctx := httptrace.WithClientTrace(context.Background(), trace)
	start := time.Now()
	err := c.post(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latencies = append(c.latencies, time.Since(start))
	if err != nil {
		c.errors = append(c.errors, err.Error())
	}
	return reused
}

func (c *client) post(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err = io.Copy(io.Discard, answer.Body); err != nil {
		return err
	}
	if answer.StatusCode != c.good {
		return errors.New(answer.Status)
	}
	return nil
}

// handshake dials, finishes the TLS handshake and says nothing.
func (c *client) handshake() (*tls.Conn, error) {
	target, err := url.Parse(c.url)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return tls.DialWithDialer(dialer, "tcp", target.Host, c.trust)
}

// handshakes is n silent connections.
func (c *client) handshakes(n int) ([]*tls.Conn, error) {
	var held []*tls.Conn
	for range n {
		conn, err := c.handshake()
		if err != nil {
			return held, fmt.Errorf("silent connection %d: %w", len(held)+1, err)
		}
		held = append(held, conn)
	}
	return held, nil
}

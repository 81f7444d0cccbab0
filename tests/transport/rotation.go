package main

import (
	"crypto/x509"
	"encoding/hex"
	"os"
	"time"
)

// rotated is what a client sees of rotations that go on under its calls.
type rotated struct {
	Fresh       report   `json:"fresh"`       // calls over a connection of their own
	Kept        report   `json:"kept"`        // calls over connections that are kept
	Leaves      int      `json:"leaves"`      // certificates that were served
	Authorities []string `json:"authorities"` // key identifiers of who had signed them, in order
	Bundles     int      `json:"bundles"`     // trust files that were read
}

// rotate calls all the time, over fresh and over kept connections, and trusts what the CA file says.
//
// As kube-apiserver 1.36 does: another caBundle means another transport; a connection that is open
// is not verified anew.
func rotate(o options) (any, error) {
	var result rotated
	var kept *client
	var trusted string
	leaves := map[string]bool{}
	fresh := &client{}
	old := report{Errors: []string{}}
	for start := time.Now(); time.Since(start) < o.lasts; time.Sleep(o.gap) {
		pem, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, err
		}
		if string(pem) != trusted {
			if kept != nil {
				old = old.and(kept.report())
				kept.http.CloseIdleConnections()
			}
			if kept, err = newClient(o); err != nil {
				return nil, err
			}
			trusted = string(pem)
			result.Bundles++
		}
		kept.call()
		if leaf := fresh.once(kept); leaf != nil {
			leaves[leaf.SerialNumber.String()] = true
			issuer := hex.EncodeToString(leaf.AuthorityKeyId)
			if n := len(result.Authorities); n == 0 || result.Authorities[n-1] != issuer {
				result.Authorities = append(result.Authorities, issuer)
			}
		}
	}
	result.Fresh, result.Leaves = fresh.report(), len(leaves)
	if kept != nil {
		result.Kept = old.and(kept.report())
	}
	return result, nil
}

// once shakes hands as another client would and records how that went; the leaf that was verified.
func (c *client) once(other *client) *x509.Certificate {
	start := time.Now()
	conn, err := other.handshake()
	c.latencies = append(c.latencies, time.Since(start))
	if err != nil {
		c.errors = append(c.errors, err.Error())
		return nil
	}
	defer conn.Close()
	c.dialled++
	return conn.ConnectionState().PeerCertificates[0]
}

func (r report) and(other report) report {
	r.Calls += other.Calls
	r.Dials += other.Dials
	r.Errors = append(r.Errors, other.Errors...)
	r.P50, r.P99, r.Max = max(r.P50, other.P50), max(r.P99, other.P99), max(r.Max, other.Max)
	return r
}

//go:build tools

// Package promtool pins the promtool that checks the rules.
package promtool

import _ "github.com/prometheus/prometheus/cmd/promtool"

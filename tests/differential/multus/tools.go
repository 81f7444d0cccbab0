//go:build tools

// The network-resources-injector is built from this module too, so that client-go is compiled once.
package main

import _ "github.com/k8snetworkplumbingwg/network-resources-injector/cmd/webhook"

// Command snippets reads a YAML document and says what its own project's types do not know of it: of
// Flux's sources and releases, and of kind's cluster configuration.
package main

import (
	"fmt"
	"io"
	"os"

	helm "github.com/fluxcd/helm-controller/api/v2"
	source "github.com/fluxcd/source-controller/api/v1"
	kind "sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

var types = map[string]func() any{
	"helm.toolkit.fluxcd.io/v2/HelmRelease":     func() any { return &helm.HelmRelease{} },
	"source.toolkit.fluxcd.io/v1/OCIRepository": func() any { return &source.OCIRepository{} },
	"kind.x-k8s.io/v1alpha4/Cluster":            func() any { return &kind.Cluster{} },
}

func check(text []byte) error {
	var named struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &named); err != nil {
		return err
	}
	made, known := types[named.APIVersion+"/"+named.Kind]
	if !known {
		return fmt.Errorf("%s/%s: not a kind that is known here", named.APIVersion, named.Kind)
	}
	return yaml.UnmarshalStrict(text, made())
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = check(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

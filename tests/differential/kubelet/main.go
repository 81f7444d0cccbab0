// The kubelet's own code, asked about nodes and pods: the TopologyManager and the device manager of
// Kubernetes 1.36.3 and NVIDIA's go-gpuallocator v0.6.0, behind device plugins that live in this process.
//
//	kubelet admit FOLDER   a JSON line {machine, free, request, draws} in, what a kubelet did each time out
//	kubelet prefer         a JSON line {links, free, required, size} in, how often each set of GPUs is
//	                       preferred over all orders in which the free GPUs can be named, out
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"}); err != nil {
		return err
	}
	klog.SetOutput(io.Discard)
	switch {
	case len(arguments) == 2 && arguments[0] == "admit":
		return eachLine(func(line []byte) (any, error) { return admit(line, arguments[1]) })
	case len(arguments) == 1 && arguments[0] == "prefer":
		return eachLine(func(line []byte) (any, error) { return prefer(line) })
	}
	return fmt.Errorf("expected admit FOLDER or prefer, got %q", arguments)
}

func eachLine(answer func([]byte) (any, error)) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<22)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		found, err := answer(lines.Bytes())
		if err != nil {
			return fmt.Errorf("%w: %s", err, lines.Text())
		}
		if err := out.Encode(found); err != nil {
			return err
		}
	}
	return lines.Err()
}

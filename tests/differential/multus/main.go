// Answers, for each line of standard input (a JSON string: the value of a pod's networks
// annotation), what Multus itself makes of it: one line of JSON. "multus read" gives the elements
// or the error; "multus attach" runs the whole CNI ADD against a recording plugin and gives the
// names of the interfaces in their order.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/k8sclient"
	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/logging"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const annotation = "k8s.v1.cni.cncf.io/networks"

// element has the parts of one that podrail reads, too.
type element struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Interface string `json:"interface"`
}

type answer struct {
	Elements   []element `json:"elements"`
	Interfaces []string  `json:"interfaces"`
	Error      string    `json:"error"`
	Panic      bool      `json:"panic"`
}

func main() {
	commands := map[string]func(string) answer{"read": read, "attach": attach}
	if len(os.Args) != 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: multus read|attach")
	}
	logging.SetLogStderr(false)
	lines := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var value string
		if err := json.Unmarshal(line, &value); err != nil {
			log.Fatalf("expected a JSON string a line: %v", err)
		}
		if err := out.Encode(guarded(commands[os.Args[1]], value)); err != nil {
			log.Fatal(err)
		}
	}
}

// guarded turns Multus's own panics into answers.
func guarded(command func(string) answer, value string) (found answer) {
	defer func() {
		if reason := recover(); reason != nil {
			found = answer{Panic: true, Error: fmt.Sprint(reason)}
		}
	}()
	return command(value)
}

// read asks for the elements. The pod has no namespace, so each keeps the one that was written.
func read(value string) answer {
	networks, err := k8sclient.GetPodNetwork(pod("", value))
	if _, absent := err.(*k8sclient.NoK8sNetworkError); err != nil && !absent {
		return answer{Error: err.Error()}
	}
	found := answer{Elements: []element{}}
	for _, one := range networks {
		read := element{one.Namespace, one.Name, one.InterfaceRequest}
		found.Elements = append(found.Elements, read)
	}
	return found
}

func pod(namespace, value string) *v1.Pod {
	metadata := metav1.ObjectMeta{
		Name: "pod", Namespace: namespace, Annotations: map[string]string{annotation: value},
	}
	return &v1.Pod{ObjectMeta: metadata}
}

package main

import (
	"context"
	"os"
	"strings"

	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/version"
	nad "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	nadfake "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/client/clientset/versioned/fake"
	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/k8sclient"
	"gopkg.in/k8snetworkplumbingwg/multus-cni.v4/pkg/multus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	namespace = "team"
	plugin    = `{"cniVersion":"1.0.0","name":"any","type":"recorder"}`
	// The cluster's own interface must not be one of the machine that this runs on.
	first = "podrail0"
)

// recorder stands for every CNI plugin: it makes no interface and keeps the names it is given.
type recorder struct {
	version.PluginDecoder
	names []string
}

func (r *recorder) FindInPath(plugin string, _ []string) (string, error) {
	return "/" + plugin, nil
}

func (r *recorder) ExecPlugin(_ context.Context, _ string, _ []byte, environ []string) ([]byte, error) {
	told := map[string]string{}
	for _, one := range environ {
		key, value, _ := strings.Cut(one, "=")
		told[key] = value
	}
	if told["CNI_COMMAND"] == "ADD" {
		r.names = append(r.names, told["CNI_IFNAME"])
	}
	return []byte(`{"cniVersion":"1.0.0"}`), nil
}

// attach gives the interfaces that Multus makes for the annotation, after the cluster's own.
func attach(value string) answer {
	folder, err := os.MkdirTemp("", "podrail-multus-")
	if err != nil {
		return answer{Error: err.Error()}
	}
	defer os.RemoveAll(folder)
	client := &k8sclient.ClientInfo{
		Client: fake.NewClientset(), NetClient: nadfake.NewSimpleClientset(),
	}
	if err := furnish(client, value); err != nil {
		return answer{Error: err.Error()}
	}
	args := &skel.CmdArgs{
		ContainerID: "pod", Netns: "/proc/self/ns/net", IfName: first,
		Args: "K8S_POD_NAME=pod;K8S_POD_NAMESPACE=" + namespace,
		StdinData: []byte(`{"cniVersion":"1.0.0","name":"multus","type":"multus","cniDir":"` + folder +
			`","binDir":"` + folder + `","delegates":[` + plugin + `]}`),
	}
	asked := &recorder{}
	if _, err := multus.CmdAdd(args, asked, client); err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Interfaces: asked.names[1:]}
}

// furnish makes the pod and the networks that it names.
func furnish(client *k8sclient.ClientInfo, value string) error {
	if _, err := client.AddPod(pod(namespace, value)); err != nil {
		return err
	}
	networks, err := k8sclient.GetPodNetwork(pod(namespace, value))
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, one := range networks {
		if made[one.Namespace+"/"+one.Name] {
			continue
		}
		made[one.Namespace+"/"+one.Name] = true
		metadata := metav1.ObjectMeta{Namespace: one.Namespace, Name: one.Name}
		definition := &nad.NetworkAttachmentDefinition{
			ObjectMeta: metadata, Spec: nad.NetworkAttachmentDefinitionSpec{Config: plugin},
		}
		if _, err := client.AddNetAttachDef(definition); err != nil {
			return err
		}
	}
	return nil
}

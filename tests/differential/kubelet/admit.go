package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	_ "unsafe" // for linkname

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"
	cadvisor "github.com/google/cadvisor/info/v1"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// The exported constructor insists on the kubelet's own folder.
//
//go:linkname newManagerImpl k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newManagerImpl(klog.Logger, string, []cadvisor.Node, topologymanager.Store) (*devicemanager.ManagerImpl, error)

type card struct {
	Numa    *int
	Devices int
	Free    int
}

type deviceResource struct {
	Name    string
	Cards   []card
	Links   [][]int
	Aligned bool
}

type container struct {
	Wants map[string]int
	Kind  string
}

type asking struct {
	Policy    string
	Scope     string
	Closest   bool
	Distances [][]uint64
	Resources []deviceResource
	Request   []container
	Draws     int
}

// admission is what one kubelet did: the mask is null for a container without affinity, and the
// devices are counted by card.
type admission struct {
	Admitted bool
	Reason   string
	Masks    []*uint64
	Got      []map[string][]int
}

func admit(line []byte, folder string) ([]admission, error) {
	var asked asking
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	found := []admission{}
	for range asked.Draws {
		one, err := kubelet(asked, folder)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

func kubelet(asked asking, folder string) (admission, error) {
	nodes := []cadvisor.Node{}
	for id, distances := range asked.Distances {
		nodes = append(nodes, cadvisor.Node{Id: id, Distances: distances})
	}
	options := map[string]string{"prefer-closest-numa-nodes": fmt.Sprint(asked.Closest)}
	topology, err := topologymanager.NewManager(nodes, asked.Policy, asked.Scope, options)
	if err != nil {
		return admission{}, err
	}
	own, err := os.MkdirTemp(folder, "")
	if err != nil {
		return admission{}, err
	}
	defer os.RemoveAll(own)
	devices, err := newManagerImpl(klog.Background(), filepath.Join(own, "s.sock"), nodes, topology)
	if err != nil {
		return admission{}, err
	}
	pod := podOf(asked.Request)
	active := func() []*v1.Pod { return []*v1.Pod{pod} }
	ready := config.NewSourcesReady(func(sets.Set[string]) bool { return true })
	if err := devices.Start(klog.Background(), active, ready, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		return admission{}, err
	}
	defer devices.Stop(klog.Background())
	for _, one := range asked.Resources {
		if err := connect(devices, one); err != nil {
			return admission{}, err
		}
	}
	topology.AddHintProvider(klog.Background(), devices)
	result := topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
	return told(result, pod, topology, devices, asked), nil
}

func podOf(request []container) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: types.UID("pod")}}
	always := v1.ContainerRestartPolicyAlways
	for at, one := range request {
		limits := v1.ResourceList{}
		for name, count := range one.Wants {
			limits[v1.ResourceName(name)] = *resource.NewQuantity(int64(count), resource.DecimalSI)
		}
		made := v1.Container{Name: fmt.Sprint(at), Resources: v1.ResourceRequirements{Limits: limits, Requests: limits}}
		switch one.Kind {
		case "sidecar":
			made.RestartPolicy = &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, made)
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, made)
		default:
			pod.Spec.Containers = append(pod.Spec.Containers, made)
		}
	}
	return pod
}

// connect lists the resource's devices; those that are not free are listed as unhealthy, which is the
// same to the kubelet: they count for what could fit and cannot be had.
func connect(devices *devicemanager.ManagerImpl, one deviceResource) error {
	listed := []*pluginapi.Device{}
	for at, own := range one.Cards {
		for number := range own.Devices {
			device := &pluginapi.Device{ID: fmt.Sprintf("%d/%d", at, number), Health: pluginapi.Unhealthy}
			if number < own.Free {
				device.Health = pluginapi.Healthy
			}
			if own.Numa != nil {
				device.Topology = &pluginapi.TopologyInfo{Nodes: []*pluginapi.NUMANode{{ID: int64(*own.Numa)}}}
			}
			listed = append(listed, device)
		}
	}
	plugin := &plugin{resource: one}
	if err := devices.PluginConnected(context.Background(), one.Name, plugin); err != nil {
		return err
	}
	devices.PluginListAndWatchReceiver(klog.Background(), one.Name, &pluginapi.ListAndWatchResponse{Devices: listed})
	return nil
}

func told(result lifecycle.PodAdmitResult, pod *v1.Pod, topology topologymanager.Manager, devices *devicemanager.ManagerImpl, asked asking) admission {
	found := admission{Admitted: result.Admit, Reason: result.Reason}
	for at := range asked.Request {
		name := fmt.Sprint(at)
		var mask *uint64
		if affinity := topology.GetAffinity(string(pod.UID), name).NUMANodeAffinity; affinity != nil {
			bits := uint64(0)
			for _, bit := range affinity.GetBits() {
				bits |= 1 << bit
			}
			mask = &bits
		}
		got := map[string][]int{}
		held := devices.GetDevices(string(pod.UID), name)
		for _, one := range asked.Resources {
			got[one.Name] = make([]int, len(one.Cards))
			for id := range held[one.Name] {
				var card, number int
				fmt.Sscanf(id, "%d/%d", &card, &number)
				got[one.Name][card]++
			}
		}
		found.Masks = append(found.Masks, mask)
		found.Got = append(found.Got, got)
	}
	return found
}

// plugin is a device plugin's gRPC client without the wire. An aligned one prefers what NVIDIA's
// plugin would (k8s-device-plugin v0.19, internal/rm/nvml_manager.go: alignedAlloc).
type plugin struct {
	pluginapi.DevicePluginClient
	resource deviceResource
}

func (p *plugin) API() pluginapi.DevicePluginClient { return p }
func (p *plugin) Resource() string                  { return p.resource.Name }
func (p *plugin) SocketPath() string                { return "" }

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty, ...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: p.resource.Aligned}, nil
}

func (p *plugin) Allocate(context.Context, *pluginapi.AllocateRequest, ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}, nil
}

func (p *plugin) GetPreferredAllocation(_ context.Context, asked *pluginapi.PreferredAllocationRequest, _ ...grpc.CallOption) (*pluginapi.PreferredAllocationResponse, error) {
	gpus := gpusOf(p.resource.Links)
	named := func(ids []string) []*gpuallocator.Device {
		places := []int{}
		for _, id := range ids {
			var card, number int
			fmt.Sscanf(id, "%d/%d", &card, &number)
			places = append(places, card)
		}
		return pick(gpus, places)
	}
	if len(asked.ContainerRequests) != 1 {
		return nil, errors.New("expected one container")
	}
	one := asked.ContainerRequests[0]
	set := gpuallocator.NewBestEffortPolicy().Allocate(
		named(one.AvailableDeviceIDs), named(one.MustIncludeDeviceIDs), int(one.AllocationSize))
	ids := []string{}
	for _, at := range indexes(set) {
		ids = append(ids, fmt.Sprintf("%d/0", at))
	}
	return &pluginapi.PreferredAllocationResponse{
		ContainerResponses: []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: ids}},
	}, nil
}

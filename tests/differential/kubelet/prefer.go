package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-gpuallocator/gpuallocator"
)

// A link's type belongs to an internal package, so it can only be had by constants: the P2P types
// one to six are worth 10 to 60, those after them 100 for each NVLink.
var linkTypes = []gpuallocator.P2PLink{
	{Type: 0}, {Type: 1}, {Type: 2}, {Type: 3}, {Type: 4}, {Type: 5}, {Type: 6}, {Type: 7}, {Type: 8},
	{Type: 9}, {Type: 10}, {Type: 11}, {Type: 12}, {Type: 13}, {Type: 14}, {Type: 15}, {Type: 16},
	{Type: 17}, {Type: 18}, {Type: 19}, {Type: 20}, {Type: 21}, {Type: 22}, {Type: 23}, {Type: 24},
}

const nvlinks = 6

// gpusOf makes GPUs whose pairs are worth what the matrix says.
func gpusOf(links [][]int) []*gpuallocator.Device {
	gpus := make([]*gpuallocator.Device, len(links))
	for at := range links {
		gpus[at] = &gpuallocator.Device{Index: at, Links: map[int][]gpuallocator.P2PLink{}}
		gpus[at].UUID = fmt.Sprint(at)
	}
	for one, row := range links {
		for other, worth := range row {
			if one == other {
				continue
			}
			for _, kind := range []int{worth % 100 / 10, nvlinks + worth/100} {
				if kind != 0 && kind != nvlinks {
					link := linkTypes[kind]
					link.GPU = gpus[other]
					gpus[one].Links[other] = append(gpus[one].Links[other], link)
				}
			}
		}
	}
	return gpus
}

type preferring struct {
	Links    [][]int
	Free     []int
	Required []int
	Size     int
}

// preference is one set, or none if it held no GPU at a place; Orders counts how often it came.
type preference struct {
	Gpus   []int
	Orders int
}

func prefer(line []byte) ([]preference, error) {
	var asked preferring
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	gpus := gpusOf(asked.Links)
	policy := gpuallocator.NewBestEffortPolicy()
	counts := map[string]*preference{}
	permute(asked.Free, func(order []int) {
		set := indexes(policy.Allocate(pick(gpus, order), pick(gpus, asked.Required), asked.Size))
		key := fmt.Sprint(set)
		if counts[key] == nil {
			counts[key] = &preference{Gpus: set}
		}
		counts[key].Orders++
	})
	found := []preference{}
	for _, one := range counts {
		found = append(found, *one)
	}
	return found, nil
}

func pick(gpus []*gpuallocator.Device, places []int) []*gpuallocator.Device {
	found := []*gpuallocator.Device{}
	for _, at := range places {
		found = append(found, gpus[at])
	}
	return found
}

func indexes(gpus []*gpuallocator.Device) []int {
	found := []int{}
	for _, gpu := range gpus {
		if gpu == nil {
			return []int{}
		}
		found = append(found, gpu.Index)
	}
	slices.Sort(found)
	return found
}

// permute calls with every order of the items.
func permute(items []int, call func([]int)) {
	order := slices.Clone(items)
	var fill func(int)
	fill = func(at int) {
		if at == len(order) {
			call(order)
			return
		}
		for next := at; next < len(order); next++ {
			order[at], order[next] = order[next], order[at]
			fill(at + 1)
			order[at], order[next] = order[next], order[at]
		}
	}
	fill(0)
}

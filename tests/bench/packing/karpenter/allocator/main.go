// Allocates devices to claims by the code of kube-scheduler, for comparison: one scene a line of JSON on stdin, one
// answer a line on stdout. An answer says whether all claims of a scene fit on its node together, and the allocator's
// error where it had one.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// scene is a node, all slices, classes and claims without devices, and the devices that other claims have.
type scene struct {
	Node    string                      `json:"node"`
	Slices  []*resourcev1.ResourceSlice `json:"slices"`
	Classes []*resourcev1.DeviceClass   `json:"classes"`
	Claims  []*resourcev1.ResourceClaim `json:"claims"`
	Taken   [][3]string                 `json:"taken"`
}

type answer struct {
	Fits  bool   `json:"fits"`
	Error string `json:"error,omitempty"`
}

// classes are the device classes by name.
type classes map[string]*resourcev1.DeviceClass

func (c classes) List() ([]*resourcev1.DeviceClass, error) {
	var found []*resourcev1.DeviceClass
	for _, one := range c {
		found = append(found, one)
	}
	return found, nil
}

func (c classes) Get(name string) (*resourcev1.DeviceClass, error) {
	if one, ok := c[name]; ok {
		return one, nil
	}
	return nil, fmt.Errorf("there is no class %s", name)
}

func allocate(s scene) answer {
	ctx, taken, known := context.Background(), sets.New[structured.DeviceID](), classes{}
	for _, device := range s.Taken {
		taken.Insert(structured.MakeDeviceID(device[0], device[1], device[2]))
	}
	for _, one := range s.Classes {
		known[one.Name] = one
	}
	features := structured.Features{AdminAccess: true, DeviceTaints: true, PrioritizedList: true}
	state := structured.AllocatedState{
		AllocatedDevices:         taken,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	allocator, err := structured.NewAllocator(ctx, features, state, known, s.Slices, cel.NewCache(100, cel.Features{}))
	if err != nil {
		return answer{Error: err.Error()}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Node}}
	found, err := allocator.Allocate(ctx, node, s.Claims)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Fits: found != nil}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var asked scene
		said := answer{}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			said.Error = "not understood: " + err.Error()
		} else {
			said = allocate(asked)
		}
		written, err := json.Marshal(said)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(written))
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

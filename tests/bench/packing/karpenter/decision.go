package main

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// decision is what is printed. Pods are named namespace/name, prices are dollars an hour.
type decision struct {
	NodeClaims       []claim             `json:"nodeClaims"`
	Existing         map[string][]string `json:"existing"`
	Unschedulable    map[string]string   `json:"unschedulable"`
	Cost             float64             `json:"cost"`
	Pods             int                 `json:"pods"`
	Seconds          []float64           `json:"seconds"`
	ProcessorSeconds []float64           `json:"processorSeconds"`
	TimedOut         bool                `json:"timedOut"`
	PeakMiB          float64             `json:"peakMib"`

	waiting map[string]bool
}

// claim is a node to buy. InstanceTypes are cheapest first; Price is that of the first.
type claim struct {
	NodePool      string                                    `json:"nodePool"`
	Pods          []string                                  `json:"pods"`
	InstanceTypes []string                                  `json:"instanceTypes"`
	Requirements  []v1.NodeSelectorRequirementWithMinValues `json:"requirements"`
	Requests      corev1.ResourceList                       `json:"requests"`
	Price         float64                                   `json:"price"`
}

func newDecision(pods []*corev1.Pod) *decision {
	d := &decision{
		NodeClaims:    []claim{},
		Existing:      map[string][]string{},
		Unschedulable: map[string]string{},
		Pods:          len(pods),
		waiting:       map[string]bool{},
	}
	for _, pod := range pods {
		d.waiting[nameOf(pod)] = true
	}
	return d
}

func (d *decision) refuse(pod *corev1.Pod, why error) {
	d.Unschedulable[nameOf(pod)] = why.Error()
	delete(d.waiting, nameOf(pod))
}

// take notes where all pods went. One that Karpenter says nothing of is refused, for no pod may be lost sight of.
func (d *decision) take(results scheduling.Results) {
	for _, made := range results.NewNodeClaims {
		bought := claimOf(made)
		d.Cost += bought.Price
		d.NodeClaims = append(d.NodeClaims, bought)
		d.placed(bought.Pods)
	}
	for _, node := range results.ExistingNodes {
		if len(node.Pods) > 0 {
			d.Existing[node.Name()] = namesOf(node.Pods)
			d.placed(d.Existing[node.Name()])
		}
	}
	for pod, err := range results.PodErrors {
		d.refuse(pod, err)
	}
	for name := range d.waiting {
		d.Unschedulable[name] = "nothing was decided"
	}
}

func (d *decision) placed(names []string) {
	for _, name := range names {
		delete(d.waiting, name)
	}
}

func claimOf(made *scheduling.NodeClaim) claim {
	c := claim{
		NodePool: made.NodePoolName,
		Pods:     namesOf(made.Pods),
		Requests: made.Spec.Resources.Requests,
		Price:    math.MaxFloat64,

		InstanceTypes: []string{},
		Requirements:  []v1.NodeSelectorRequirementWithMinValues{},
	}
	for _, requirement := range made.Requirements.NodeSelectorRequirements() {
		if requirement.Key != corev1.LabelInstanceTypeStable && requirement.Key != corev1.LabelHostname {
			c.Requirements = append(c.Requirements, requirement)
		}
	}
	slices.SortFunc(c.Requirements, func(a, b v1.NodeSelectorRequirementWithMinValues) int {
		return strings.Compare(a.Key, b.Key)
	})
	for _, instanceType := range made.InstanceTypeOptions.OrderByPrice(made.Requirements) {
		c.InstanceTypes = append(c.InstanceTypes, instanceType.Name)
		for _, offering := range instanceType.Offerings.Available().Compatible(made.Requirements) {
			c.Price = math.Min(c.Price, offering.Price)
		}
	}
	return c
}

func nameOf(pod *corev1.Pod) string {
	return client.ObjectKeyFromObject(pod).String()
}

func namesOf(pods []*corev1.Pod) []string {
	names := make([]string, len(pods))
	for i, pod := range pods {
		names[i] = nameOf(pod)
	}
	slices.Sort(names)
	return names
}

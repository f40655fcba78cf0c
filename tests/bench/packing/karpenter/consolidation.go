package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// consolidation is what is printed of a cluster to consolidate. Command is what Karpenter would do first; none where it
// would leave the cluster alone. Each is what it would do with each candidate alone if budgets allowed it, and Blocked
// why other nodes are no candidates.
type consolidation struct {
	Command *command           `json:"command"`
	Each    map[string]command `json:"each"`
	Blocked map[string]string  `json:"blocked"`
	Seconds float64            `json:"seconds"`
}

// command is nodes that go together. Existing says which pods go to which nodes that are there, Replacements what is
// bought first. Method is empty, multi or single; Decision is delete, replace or no-op, and Reason why it is that.
type command struct {
	Method       string              `json:"method"`
	Decision     disruption.Decision `json:"decision"`
	Candidates   []string            `json:"candidates"`
	Replacements []claim             `json:"replacements"`
	Existing     map[string][]string `json:"existing"`
	Savings      float64             `json:"savings"`
	Reason       string              `json:"reason"`
}

// The methods that consolidate, in the order Karpenter tries them.
var methods = []string{"empty", "multi", "single"}

// consolidate returns what Karpenter's disruption controller decides on a cluster, without waiting to validate it.
// With each, it is also asked about every candidate alone.
func (k *karpenter) consolidate(s *scenario, each bool) (*consolidation, error) {
	ctx := k.ctx
	notes := &notes{about: map[string]string{}}
	made := &consolidation{Each: map[string]command{}, Blocked: map[string]string{}}
	began := time.Now()
	for _, name := range methods {
		found, err := s.run(ctx, name, k.provider, notes)
		if err != nil {
			return nil, err
		}
		if found != nil {
			made.Command = found
			break
		}
	}
	made.Seconds = time.Since(began).Seconds()
	if !each {
		return made, nil
	}
	for _, name := range []string{"empty", "single"} {
		if err := s.eachAlone(ctx, name, k.provider, made.Each); err != nil {
			return nil, err
		}
	}
	for _, node := range s.cluster.DeepCopyNodes() {
		if _, is := made.Each[node.Name()]; !is {
			made.Blocked[node.Name()] = notes.about[node.Name()]
		}
	}
	return made, nil
}

// method returns one of Karpenter's, new: it remembers nothing of earlier passes.
func (s *scenario) method(name string, provider *provider, recorder events.Recorder) disruption.Method {
	queue := disruption.NewQueue(s.kube, recorder, s.cluster, s.clock, s.provisioner)
	common := disruption.MakeConsolidation(s.clock, s.cluster, s.kube, s.provisioner, provider, recorder, queue)
	atOnce := disruption.WithValidator(accepting{})
	switch name {
	case "empty":
		return disruption.NewEmptiness(common, atOnce)
	case "multi":
		return disruption.NewMultiNodeConsolidation(common, atOnce)
	default:
		return disruption.NewSingleNodeConsolidation(common, atOnce)
	}
}

// candidates returns those of a method, and tells it the totals of all pools, as the controller does.
func (s *scenario) candidates(
	ctx context.Context, method disruption.Method, provider *provider, recorder events.Recorder,
) ([]*disruption.Candidate, error) {
	queue := disruption.NewQueue(s.kube, recorder, s.cluster, s.clock, s.provisioner)
	found, totals, err := disruption.GetCandidatesWithTotals(ctx, s.cluster, s.kube, recorder, s.clock, provider,
		method.ShouldDisrupt, method.Class(), queue, s.costs)
	if setter, is := method.(disruption.NodePoolTotalsSetter); is && err == nil {
		setter.SetNodePoolTotals(totals)
	}
	return found, err
}

// run returns the first command of a method, within budgets.
func (s *scenario) run(ctx context.Context, name string, provider *provider, notes *notes) (*command, error) {
	method := s.method(name, provider, notes)
	candidates, err := s.candidates(ctx, method, provider, notes)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, s.cluster, s.clock, s.kube, provider, notes, method.Reason())
	if err != nil {
		return nil, err
	}
	commands, err := method.ComputeCommands(ctx, budgets, candidates...)
	if err != nil || len(commands) == 0 || commands[0].Decision() == disruption.NoOpDecision {
		return nil, err
	}
	if len(commands) > 1 {
		return nil, fmt.Errorf("%s: %d commands at once", name, len(commands))
	}
	found := commandOf(name, commands[0])
	return &found, nil
}

// eachAlone asks a method about every candidate of its own as if there were no other, and no budget.
func (s *scenario) eachAlone(ctx context.Context, name string, provider *provider, out map[string]command) error {
	candidates, err := s.candidates(ctx, s.method(name, provider, &notes{about: map[string]string{}}), provider, s.recorder)
	if err != nil {
		return err
	}
	for _, candidate := range candidates {
		notes := &notes{about: map[string]string{}}
		method := s.method(name, provider, notes)
		if _, err := s.candidates(ctx, method, provider, notes); err != nil {
			return err
		}
		commands, err := method.ComputeCommands(ctx, map[string]int{candidate.NodePool.Name: 1}, candidate)
		if err != nil {
			return err
		}
		found := command{Method: name, Decision: disruption.NoOpDecision, Candidates: []string{candidate.Name()}}
		if len(commands) > 0 {
			found = commandOf(name, commands[0])
		}
		found.Reason = notes.about[candidate.Name()]
		out[candidate.Name()] = found
	}
	return nil
}

func commandOf(method string, made disruption.Command) command {
	c := command{
		Method:       method,
		Decision:     made.Decision(),
		Replacements: []claim{},
		Existing:     map[string][]string{},
		Savings:      made.EstimatedSavings(),
	}
	for _, candidate := range made.Candidates {
		c.Candidates = append(c.Candidates, candidate.Name())
	}
	slices.Sort(c.Candidates)
	for _, replacement := range made.Replacements {
		c.Replacements = append(c.Replacements, claimOf(replacement.NodeClaim))
	}
	for _, node := range made.Results.ExistingNodes {
		if len(node.Pods) > 0 {
			c.Existing[node.Name()] = namesOf(node.Pods)
		}
	}
	return c
}

// accepting takes every command for valid: nothing happens between deciding and acting here.
type accepting struct{}

func (accepting) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// notes keeps what is last said of a node, in place of events.
type notes struct {
	about map[string]string
}

func (n *notes) Publish(published ...events.Event) {
	for _, event := range published {
		node, is := event.InvolvedObject.(*corev1.Node)
		if is && (event.Reason == "Unconsolidatable" || strings.HasPrefix(event.Reason, "DisruptionBlocked")) {
			n.about[node.Name] = event.Message
		}
	}
}

// spotToSpot returns Karpenter with the gate of that name on or off.
func (k *karpenter) spotToSpot(on bool) *karpenter {
	settings := *options.FromContext(k.ctx)
	settings.FeatureGates.SpotToSpotConsolidation = on
	with := *k
	with.ctx = options.ToContext(k.ctx, &settings)
	return &with
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/log"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	_ "sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
)

// karpenter is its scheduler with one catalogue and one set of policies.
type karpenter struct {
	ctx      context.Context
	how      policies
	provider *provider
	options  []scheduling.Options
}

func newKarpenter(catalogue string, how policies) (*karpenter, error) {
	log.SetLogger(logging.NopLogger)
	settings := &options.Options{}
	flags := &options.FlagSet{FlagSet: flag.NewFlagSet("karpenter", flag.ContinueOnError)}
	settings.AddFlags(flags)
	err := settings.Parse(flags, "-preference-policy", how.preferences, "-min-values-policy", how.minValues)
	if err != nil {
		return nil, err
	}
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), settings)
	ctx = kwokoptions.ToContext(ctx, &kwokoptions.Options{InstanceTypesFilePath: catalogue})
	instanceTypes, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return nil, err
	}
	opts := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(how.concurrency),
		scheduling.MinValuesPolicy(settings.MinValuesPolicy),
	}
	if settings.PreferencePolicy == options.PreferencePolicyIgnore {
		opts = append(opts, scheduling.IgnorePreferences)
	}
	return &karpenter{ctx: ctx, how: how, provider: &provider{types: instanceTypes}, options: opts}, nil
}

// read makes a scenario of a file of manifests.
func (k *karpenter) read(path string) (*scenario, error) {
	manifests, err := readManifests(path)
	if err != nil {
		return nil, err
	}
	kube, err := newStore(admit(manifests))
	if err != nil {
		return nil, err
	}
	return newScenario(k.ctx, kube, k.provider)
}

// decide decides so many times over, each from scratch, and returns the last decision with the times of all.
func (k *karpenter) decide(s *scenario, repeat int) (*decision, error) {
	var last *decision
	var wall, processor []float64
	for range repeat {
		made, err := k.decideOnce(s)
		if err != nil {
			return nil, err
		}
		last = made
		wall, processor = append(wall, made.Seconds...), append(processor, made.ProcessorSeconds...)
	}
	last.Seconds, last.ProcessorSeconds = wall, processor
	return last, nil
}

func (k *karpenter) decideOnce(s *scenario) (*decision, error) {
	nodes := s.cluster.DeepCopyNodes()
	listed, err := nodeutils.GetProvisionablePods(k.ctx, s.kube)
	if err != nil {
		return nil, err
	}
	leaving, err := nodes.Deleting().CurrentlyReschedulablePods(k.ctx, s.kube, s.clock, s.recorder)
	if err != nil {
		return nil, err
	}
	made := newDecision(append(append([]*corev1.Pod{}, listed...), leaving...))
	var pods []*corev1.Pod
	for _, pod := range listed {
		if err := s.provisioner.Validate(k.ctx, pod); err != nil {
			made.refuse(pod, err)
		} else {
			pods = append(pods, pod)
		}
	}
	pods = append(pods, leaving...)
	uids := sets.New[types.UID]()
	for _, pod := range leaving {
		uids.Insert(pod.UID)
	}
	ctx, cancel := k.ctx, func() {}
	if k.how.timeout > 0 {
		ctx, cancel = context.WithTimeout(k.ctx, k.how.timeout)
	}
	defer cancel()

	runtime.GC() // What reading and earlier decisions left behind is not this one's.
	began, used := time.Now(), processorSeconds()
	results := scheduling.Results{}
	scheduler, err := s.provisioner.NewScheduler(k.ctx, pods, nodes.Active(), uids, k.options...)
	if err == nil {
		results, err = scheduler.Solve(ctx, pods)
		results = results.TruncateInstanceTypes(k.ctx, scheduling.MaxInstanceTypes)
	}
	made.Seconds = []float64{time.Since(began).Seconds()}
	made.ProcessorSeconds = []float64{processorSeconds() - used}
	made.PeakMiB = peakMiB()

	switch {
	case errors.Is(err, provisioning.ErrNodePoolsNotFound):
		for _, pod := range pods {
			made.refuse(pod, err)
		}
	case errors.Is(err, context.DeadlineExceeded):
		made.TimedOut = true
	case err != nil:
		return nil, err
	}
	made.take(results)
	return made, nil
}

// processorSeconds returns what this process has computed so far, all processors and the garbage collector included.
func processorSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// peakMiB returns the most memory this process ever held. What getrusage says may be its parent's, from before it began.
func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	return 0
}

package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/state/cost"
)

// scenario is a cluster as Karpenter would have it in memory when a batch of pods closes.
type scenario struct {
	kube        *store
	cluster     *state.Cluster
	provisioner *provisioning.Provisioner
	costs       *cost.ClusterCost
	recorder    events.Recorder
	clock       clock.Clock
}

func newScenario(ctx context.Context, kube *store, provider cloudprovider.CloudProvider) (*scenario, error) {
	s := &scenario{kube: kube, clock: clock.RealClock{}, recorder: events.NewRecorder(&record.FakeRecorder{})}
	s.cluster = state.NewCluster(s.clock, kube, provider)
	s.costs = cost.NewClusterCost(ctx, provider, kube)
	if err := s.learn(ctx); err != nil {
		return nil, err
	}
	s.cluster.SetSynced(true)
	s.provisioner = provisioning.NewProvisioner(kube, s.recorder, provider, s.cluster, s.clock, nil)
	return s, nil
}

// learn tells the cluster state what its informers would have told it.
func (s *scenario) learn(ctx context.Context) error {
	var claims v1.NodeClaimList
	var nodes corev1.NodeList
	var pods corev1.PodList
	var daemons appsv1.DaemonSetList
	if err := s.kube.List(ctx, &claims); err != nil {
		return err
	}
	if err := s.kube.List(ctx, &nodes); err != nil {
		return err
	}
	if err := s.kube.List(ctx, &pods); err != nil {
		return err
	}
	if err := s.kube.List(ctx, &daemons); err != nil {
		return err
	}
	for i := range claims.Items {
		s.cluster.UpdateNodeClaim(&claims.Items[i])
		if err := s.costs.UpdateNodeClaim(ctx, &claims.Items[i]); err != nil {
			return err
		}
	}
	for i := range nodes.Items {
		if err := s.cluster.UpdateNode(ctx, &nodes.Items[i]); err != nil {
			return err
		}
	}
	for i := range pods.Items {
		if pods.Items[i].Spec.NodeName == "" {
			continue
		}
		if err := s.cluster.UpdatePod(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	for i := range daemons.Items {
		if err := s.cluster.UpdateDaemonSet(ctx, &daemons.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

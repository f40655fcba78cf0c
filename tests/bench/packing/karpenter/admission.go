package main

import (
	"fmt"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/karpenter/kwok/apis"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// The object that every namespace is labelled with its name by.
const namespaceName = "kubernetes.io/metadata.name"

// admission does to manifests what a cluster would have done before Karpenter saw them: the API server's defaults, the
// Deployment controller's pods, and the scheduler's word that a pod without a node fits nowhere.
type admission struct {
	now        metav1.Time
	objects    []client.Object
	namespaces map[string]bool
	priorities map[string]int32
	byDefault  *schedulingv1.PriorityClass
}

// admit returns what the cluster holds after the manifests were applied to it.
func admit(manifests []client.Object) []client.Object {
	a := &admission{
		now:        metav1.NewTime(time.Now()),
		namespaces: map[string]bool{},
		priorities: map[string]int32{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000},
	}
	for _, object := range manifests {
		switch object := object.(type) {
		case *schedulingv1.PriorityClass:
			a.priorities[object.Name] = object.Value
			if object.GlobalDefault {
				a.byDefault = object
			}
		case *corev1.Namespace:
			a.namespaces[object.Name] = true
		}
	}
	for _, object := range manifests {
		a.admitOne(object)
	}
	return a.objects
}

func (a *admission) admitOne(object client.Object) {
	switch object := object.(type) {
	case *corev1.Pod:
		a.pod(object)
	case *appsv1.Deployment:
		a.deployment(object)
		return
	case *appsv1.DaemonSet:
		a.inNamespace(object)
	case *corev1.PersistentVolumeClaim:
		a.inNamespace(object)
	case *corev1.Node:
		a.node(object)
	case *v1.NodePool:
		a.pool(object)
	case *corev1.Namespace:
		a.namespace(object)
	case *storagev1.StorageClass:
		object.VolumeBindingMode = ptr.To(ptr.Deref(object.VolumeBindingMode, storagev1.VolumeBindingImmediate))
	}
	a.add(object)
}

func (a *admission) add(object client.Object) {
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("uid-%07d", len(a.objects))))
	}
	if created := object.GetCreationTimestamp(); created.IsZero() {
		object.SetCreationTimestamp(a.now)
	}
	a.objects = append(a.objects, object)
}

func (a *admission) inNamespace(object client.Object) {
	if object.GetNamespace() == "" {
		object.SetNamespace(corev1.NamespaceDefault)
	}
	if !a.namespaces[object.GetNamespace()] {
		a.namespaces[object.GetNamespace()] = true
		a.admitOne(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: object.GetNamespace()}})
	}
}

func (a *admission) namespace(namespace *corev1.Namespace) {
	if namespace.Labels == nil {
		namespace.Labels = map[string]string{}
	}
	namespace.Labels[namespaceName] = namespace.Name
}

func (a *admission) deployment(deployment *appsv1.Deployment) {
	a.inNamespace(deployment)
	template := deployment.Spec.Template
	for n := range ptr.Deref(deployment.Spec.Replicas, 1) {
		pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		pod.Name, pod.Namespace = fmt.Sprintf("%s-%d", deployment.Name, n), deployment.Namespace
		a.admitOne(pod)
	}
}

func (a *admission) pod(pod *corev1.Pod) {
	a.inNamespace(pod)
	a.priority(pod)
	if pod.Spec.NodeName != "" {
		if pod.Status.Phase == "" {
			pod.Status.Phase = corev1.PodRunning
		}
		return
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	reason := corev1.PodReasonUnschedulable
	if len(pod.Spec.SchedulingGates) > 0 {
		reason = corev1.PodReasonSchedulingGated
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason},
	}
}

func (a *admission) priority(pod *corev1.Pod) {
	if pod.Spec.Priority != nil {
		return
	}
	if pod.Spec.PriorityClassName == "" && a.byDefault != nil {
		pod.Spec.PriorityClassName = a.byDefault.Name
	}
	pod.Spec.Priority = ptr.To(a.priorities[pod.Spec.PriorityClassName])
}

func (a *admission) node(node *corev1.Node) {
	if node.Spec.ProviderID == "" {
		node.Spec.ProviderID = "manifest:///" + node.Name
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Labels[corev1.LabelHostname] == "" {
		node.Labels[corev1.LabelHostname] = node.Name
	}
	if node.Status.Capacity == nil {
		node.Status.Capacity = node.Status.Allocatable
	}
	if len(node.Status.Conditions) == 0 {
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	}
}

// pool makes a pool ready, and its node class one of the provider that is asked for types.
func (a *admission) pool(pool *v1.NodePool) {
	name := "default"
	if ref := pool.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Name != "" {
		name = ref.Name
	}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: apis.Group, Kind: "KWOKNodeClass", Name: name}
	for _, condition := range []string{v1.ConditionTypeValidationSucceeded, v1.ConditionTypeNodeClassReady} {
		pool.StatusConditions().SetTrue(condition)
	}
	pool.StatusConditions().SetTrue(status.ConditionReady)
}

package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// store answers reads from memory in the way the manager's cache does, by the same steps: objects by namespace or by
// an indexed field, then by label, then a copy of each unless none is wanted. Karpenter reads from that cache in a
// cluster; a client for tests, which encodes and decodes every object it lists, would make it look slow.
// It takes no writes: the scheduler makes none.
type store struct {
	client.Client
	shelves map[schema.GroupVersionKind]*shelf
}

// shelf holds the objects of one kind, in the order they came.
type shelf struct {
	all         []client.Object
	byKey       map[client.ObjectKey]client.Object
	byNamespace map[string][]client.Object
	byField     map[string][]client.Object
}

// The fields that Karpenter looks for objects by. Of a kind that is not here there are no objects.
var indexes = map[string]func(client.Object) string{
	"Pod/spec.nodeName":    func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName },
	"Node/spec.providerID": func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID },

	"NodeClaim/status.providerID": func(o client.Object) string { return o.(*v1.NodeClaim).Status.ProviderID },
}

// The kinds that have no namespace: as from the manager's cache, they are found whatever namespace is asked for.
var clusterScoped = sets.New("CSINode", "Namespace", "Node", "NodeClaim", "NodePool", "PersistentVolume",
	"PriorityClass", "StorageClass")

func newStore(objects []client.Object) (*store, error) {
	s := &store{shelves: map[schema.GroupVersionKind]*shelf{}}
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, scheme.Scheme)
		if err != nil {
			return nil, err
		}
		if s.shelves[kind] == nil {
			s.shelves[kind] = &shelf{
				byKey:       map[client.ObjectKey]client.Object{},
				byNamespace: map[string][]client.Object{},
				byField:     map[string][]client.Object{},
			}
		}
		if err := s.shelves[kind].add(kind.Kind, object); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *shelf) add(kind string, object client.Object) error {
	key := client.ObjectKeyFromObject(object)
	if s.byKey[key] != nil {
		return fmt.Errorf("there are two %s %s", kind, key)
	}
	s.byKey[key] = object
	s.all = append(s.all, object)
	s.byNamespace[key.Namespace] = append(s.byNamespace[key.Namespace], object)
	for index, value := range indexes {
		if of, field, _ := strings.Cut(index, "/"); of == kind {
			s.byField[field+"="+value(object)] = append(s.byField[field+"="+value(object)], object)
		}
	}
	return nil
}

// Get writes a copy of an object to out.
func (s *store) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(out, scheme.Scheme)
	if err != nil {
		return err
	}
	if clusterScoped.Has(kind.Kind) {
		key.Namespace = ""
	}
	if shelf := s.shelves[kind]; shelf != nil && shelf.byKey[key] != nil {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(shelf.byKey[key].DeepCopyObject()).Elem())
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
}

// List writes to out what the options select.
func (s *store) List(_ context.Context, out client.ObjectList, opts ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(out, scheme.Scheme)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	options := (&client.ListOptions{}).ApplyOptions(opts)
	objects, err := s.shelves[kind].selected(options)
	if err != nil {
		return fmt.Errorf("%s: %w", kind.Kind, err)
	}
	listed := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		if options.LabelSelector != nil && !options.LabelSelector.Matches(labelsOf(object)) {
			continue
		}
		if ptr.Deref(options.UnsafeDisableDeepCopy, false) {
			listed = append(listed, object)
		} else {
			listed = append(listed, object.DeepCopyObject())
		}
	}
	return apimeta.SetList(out, listed)
}

func (s *shelf) selected(options *client.ListOptions) ([]client.Object, error) {
	switch {
	case s == nil:
		return nil, nil
	case options.FieldSelector != nil && !options.FieldSelector.Empty():
		return s.indexed(options.FieldSelector)
	case options.Namespace != "":
		return s.byNamespace[options.Namespace], nil
	}
	return s.all, nil
}

func (s *shelf) indexed(selector fields.Selector) ([]client.Object, error) {
	requirements := selector.Requirements()
	if len(requirements) != 1 {
		return nil, fmt.Errorf("%s is no selector by one field", selector)
	}
	return s.byField[requirements[0].Field+"="+requirements[0].Value], nil
}

type labelSet map[string]string

func (l labelSet) Has(label string) bool              { _, has := l[label]; return has }
func (l labelSet) Get(label string) string            { return l[label] }
func (l labelSet) Lookup(label string) (string, bool) { value, has := l[label]; return value, has }
func labelsOf(object client.Object) labelSet          { return object.GetLabels() }

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What manifests may hold. Node classes say nothing here: every pool has the types of the catalogue.
var (
	kinds = sets.New("NodePool", "NodeClaim", "Pod", "Node", "Deployment", "DaemonSet", "Namespace", "StorageClass",
		"PersistentVolume", "PersistentVolumeClaim", "CSINode", "PriorityClass", "PodDisruptionBudget")
	nodeClasses = sets.New("EC2NodeClass", "KWOKNodeClass")
)

type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// readManifests returns the objects of a file of JSON or YAML documents, lists taken apart, in their order.
func readManifests(path string) ([]client.Object, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var objects []client.Object
	documents := utilyaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var document json.RawMessage
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err == nil {
			objects, err = appendObjects(objects, document)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}

func appendObjects(objects []client.Object, written json.RawMessage) ([]client.Object, error) {
	var said header
	if err := json.Unmarshal(written, &said); err != nil {
		return nil, err
	}
	switch {
	case said.Kind == "" && said.APIVersion == "": // An empty document between two separators.
		return objects, nil
	case said.Kind == "List":
		for _, item := range said.Items {
			var err error
			if objects, err = appendObjects(objects, item); err != nil {
				return nil, err
			}
		}
		return objects, nil
	case nodeClasses.Has(said.Kind):
		return objects, nil
	case !kinds.Has(said.Kind):
		return nil, fmt.Errorf("%s %s cannot be decided on", said.APIVersion, said.Kind)
	}
	made, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(said.APIVersion, said.Kind))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(written, made); err != nil {
		return nil, fmt.Errorf("%s: %w", said.Kind, err)
	}
	return append(objects, withoutKind(made)), nil
}

// withoutKind makes an object what a client's is: its type says its kind.
func withoutKind(object runtime.Object) client.Object {
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return object.(client.Object)
}

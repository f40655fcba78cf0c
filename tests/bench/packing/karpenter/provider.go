package main

import (
	"context"

	"github.com/awslabs/operatorpkg/status"

	"sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
)

// provider offers the same instance types to every pool. Nothing is ever launched.
type provider struct {
	cloudprovider.CloudProvider
	types []*cloudprovider.InstanceType
}

func (p *provider) GetInstanceTypes(context.Context, *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return p.types, nil
}

func (*provider) Name() string { return "bench" }

func (*provider) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.KWOKNodeClass{}}
}

"""What is of the old generation, or of KWOK, and breaks a rule, and the field that must be named."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import provisioner_tree
from tests.adapters.api.schema.trees import (
    LONG,
    PROVIDER,
    TAINT,
    TEMPLATE,
    Refused,
    asking,
    old,
    only,
    template,
    thing,
)

REFUSED_OLD: Final[dict[str, Refused]] = {
    "provisioner of nothing": Refused(
        {k: v for k, v in provisioner_tree().items() if k != "spec"},
        "spec",
        "is missing: it needs providerRef, or provider",
        "needs providerRef, or provider",
    ),
    "neither provider": Refused(only(provisioner_tree()), "spec", "needs providerRef, or provider"),
    "two providers": Refused(
        provisioner_tree(provider=PROVIDER),
        "spec.providerRef",
        "cannot stand beside provider",
        "cannot stand beside spec.provider",
    ),
    "provider of a foreign kind": Refused(
        provisioner_tree(providerRef={"name": "a", "apiVersion": "apps/v1", "kind": "AWSNodeTemplate"}),
        "spec.providerRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "time beyond Go": Refused(
        provisioner_tree(ttlSecondsUntilExpired=10**10),
        "spec.ttlSecondsUntilExpired",
        "should be less than or equal to 9223372036",
        "10000000000 is more than 292 years",
    ),
    "time below zero": Refused(
        provisioner_tree(ttlSecondsAfterEmpty=-1),
        "spec.ttlSecondsAfterEmpty",
        "should be greater than or equal to 0",
        "-1 must not be negative",
    ),
    "empty and consolidated": Refused(
        provisioner_tree(ttlSecondsAfterEmpty=1, consolidation={"enabled": True}),
        "spec.ttlSecondsAfterEmpty",
        "cannot stand beside consolidation.enabled",
        "cannot stand beside spec.consolidation.enabled",
    ),
    "old label of Kubernetes": Refused(
        provisioner_tree(labels={"a.k8s.io/b": "c"}),
        "spec.labels",
        "labels of kubernetes.io, k8s.io are restricted, but for",
        '"a.k8s.io/b" is restricted: labels of a.k8s.io are not for',
    ),
    "old key of Kubernetes": Refused(
        provisioner_tree(**asking("kubernetes.io/b", "Exists")),
        "spec.requirements[0].key",
        "labels of kubernetes.io, k8s.io are restricted, but for",
        '"kubernetes.io/b" is restricted: labels of kubernetes.io',
    ),
    "old taint twice": Refused(
        provisioner_tree(taints=[TAINT, TAINT]),
        "spec.taints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "old limit below zero": Refused(
        provisioner_tree(limits={"resources": {"cpu": -1}}),
        "spec.limits.resources.cpu",
        "should be greater than or equal to 0",
        '"-1" must not be negative',
    ),
    "old threshold": Refused(
        provisioner_tree(kubeletConfiguration={"evictionHard": {"pid.available": "few"}}),
        "spec.kubeletConfiguration.evictionHard.pid.available",
        "should match",
        '"few" is not a quantity (such as 500m, 2 or 1.5Gi)',
    ),
    "custom images within": Refused(
        old(amiFamily="Custom"),
        "spec.provider.amiFamily",
        "Custom needs an amiSelector, and so an AWSNodeTemplate",
    ),
    "provider without subnets": Refused(old(subnetSelector={}), "spec.provider.subnetSelector", "is missing"),
    "provider without groups": Refused(
        old(securityGroupSelector={}),
        "spec.provider.securityGroupSelector",
        "is missing: it is needed without launchTemplate",
    ),
    "family beside a template": Refused(
        only(provisioner_tree(), provider={**TEMPLATE, "amiFamily": "AL2"}),
        "spec.provider.amiFamily",
        "cannot stand beside launchTemplate, which says it",
    ),
    "custom without images": Refused(
        template(amiFamily="Custom"), "spec.amiSelector", "is missing: amiFamily Custom needs it"
    ),
    "unknown old family": Refused(
        template(amiFamily="AL2023"),
        "spec.amiFamily",
        'Unsupported value: "AL2023"',
        '"AL2023" is not one of AL2, Bottlerocket, Custom, Ubuntu',
    ),
    "user data beside a template": Refused(
        only(template(), **TEMPLATE, userData="a"),
        "spec.userData",
        "cannot stand beside launchTemplate, which says it",
    ),
    "images beside a template": Refused(
        only(template(), **TEMPLATE, amiSelector={"a": "b"}),
        "spec.amiSelector",
        "cannot stand beside launchTemplate, which says it",
    ),
    "groups beside a template": Refused(
        only(template(), **TEMPLATE, securityGroupSelector={"a": "b"}),
        "spec.securityGroupSelector",
        "cannot stand beside launchTemplate, which says it",
    ),
    "volumes beside a template": Refused(
        only(template(), **TEMPLATE, blockDeviceMappings=[{"ebs": {"volumeSize": "1G"}}]),
        "spec.blockDeviceMappings",
        "cannot stand beside launchTemplate, which says it",
    ),
    "metadata beside a template": Refused(
        only(template(), **TEMPLATE, metadataOptions={}),
        "spec.metadataOptions",
        "cannot stand beside launchTemplate, which says it",
    ),
    "empty value of a selector": Refused(
        template(subnetSelector={"a": ""}),
        "spec.subnetSelector.a",
        "should match",
        "neither a key nor a value may be empty",
    ),
    "empty item of a selector": Refused(
        template(subnetSelector={"a": "b,,c"}),
        "spec.subnetSelector.a",
        "should match",
        "neither a key nor a value may be empty",
    ),
    "empty key of a selector": Refused(
        template(subnetSelector={"": "b"}),
        "spec.subnetSelector",
        "a key must not be empty",
        "neither a key nor a value may be empty",
    ),
    "ids beside tags": Refused(
        template(subnetSelector={"aws-ids": "subnet-1", "a": "b"}),
        "spec.subnetSelector",
        "aws-ids cannot stand beside other keys",
    ),
    "ids of other things": Refused(
        template(subnetSelector={"aws-ids": "subnet-1, sg-1"}),
        "spec.subnetSelector",
        "aws-ids must be subnet-...",
        '"sg-1" is not an id (subnet-...)',
    ),
    "an id that ends where it begins": Refused(
        template(subnetSelector={"aws-ids": "subnet-1,subnet-"}),
        "spec.subnetSelector",
        "aws-ids must be subnet-...",
        '"subnet-" is not an id (subnet-...)',
    ),
    "ids of no groups": Refused(
        template(securityGroupSelector={"aws::ids": "subnet-1"}),
        "spec.securityGroupSelector",
        "aws::ids must be sg-...",
        '"subnet-1" is not an id (sg-...)',
    ),
    "ids of no images": Refused(
        template(amiSelector={"aws-ids": "sg-1", "a": "b"}),
        "spec.amiSelector",
        "aws-ids must be ami-...",
        '"sg-1" is not an id (ami-...)',
    ),
    "other ids of no subnets": Refused(
        template(subnetSelector={"aws::ids": "a"}),
        "spec.subnetSelector",
        "aws::ids must be subnet-...",
        '"a" is not an id (subnet-...)',
    ),
    "other ids of no groups": Refused(
        template(securityGroupSelector={"aws-ids": "a"}),
        "spec.securityGroupSelector",
        "aws-ids must be sg-...",
        '"a" is not an id (sg-...)',
    ),
    "other ids of no images": Refused(
        template(amiSelector={"aws::ids": "ami-1,a"}),
        "spec.amiSelector",
        "aws::ids must be ami-...",
        '"a" is not an id (ami-...)',
    ),
    "old tag of a cluster": Refused(
        template(tags={"kubernetes.io/cluster/a": "b"}),
        "spec.tags",
        "eks:eks-cluster-name, karpenter.sh/managed-by",
        '"kubernetes.io/cluster/a" is restricted: instances get it',
    ),
    "old tag of the pool": Refused(
        template(tags={"karpenter.sh/provisioner-name": "b"}),
        "spec.tags",
        "eks:eks-cluster-name, karpenter.sh/managed-by",
        "is restricted: instances get it by themselves",
    ),
    # KWOKNodeClass
    "delay that is none": Refused(
        thing("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", {"nodeRegistrationDelay": "soon"}),
        "spec.nodeRegistrationDelay",
        "should match",
        '"soon" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "delay of 11,000 years": Refused(
        thing("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", {"nodeRegistrationDelay": LONG}),
        "spec.nodeRegistrationDelay",
        "must be less than 292 years",
        '"99999999h" is no duration of less than 292 years',
    ),
    "old operator": Refused(
        provisioner_tree(**asking("a", "Lte", "1")),
        "spec.requirements[0].operator",
        'Unsupported value: "Lte"',
        '"Lte" is not one of DoesNotExist, Exists, Gt, In, Lt',
    ),
    "old key of AWS": Refused(
        provisioner_tree(**asking("karpenter.k8s.aws/instance-colour", "Exists")),
        "spec.requirements[0].key",
        "of karpenter.k8s.aws there are only",
        "is no label of karpenter.k8s.aws; did you mean",
    ),
    "old no value": Refused(
        provisioner_tree(**asking("a", "In")), "spec.requirements[0].values", "In needs at least one value"
    ),
    "old no capacity type": Refused(
        provisioner_tree(**asking("karpenter.sh/capacity-type", "In", "x")),
        "spec.requirements[0].values",
        "one of them must be one of on-demand, reserved, spot",
        "none of them is one of on-demand, reserved, spot",
    ),
    "old label of the pool": Refused(
        provisioner_tree(labels={"karpenter.sh/provisioner-name": "a"}),
        "spec.labels",
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        "is restricted: it is given to every node by itself",
    ),
    "old malformed value of a label": Refused(
        provisioner_tree(labels={"a": "b c"}),
        "spec.labels.a",
        "should match",
        '"b c" is not a label value (at most 63 letters, digits',
    ),
    "old weight of 0": Refused(
        provisioner_tree(weight=0),
        "spec.weight",
        "should be greater than or equal to 1",
        "0 is not between 1 and 100",
    ),
    "old images kept and removed": Refused(
        provisioner_tree(
            kubeletConfiguration={"imageGCHighThresholdPercent": 1, "imageGCLowThresholdPercent": 2}
        ),
        "spec.kubeletConfiguration.imageGCHighThresholdPercent",
        "must be more than imageGCLowThresholdPercent",
    ),
    "old period without threshold": Refused(
        provisioner_tree(kubeletConfiguration={"evictionSoftGracePeriod": {"pid.available": "5m"}}),
        "spec.kubeletConfiguration.evictionSoftGracePeriod",
        "every signal must stand in evictionSoft and in evictionSoftGracePeriod",
        "pid.available must stand in evictionSoftGracePeriod too",
    ),
    "old device without a name": Refused(
        template(blockDeviceMappings=[{"ebs": {"volumeSize": "20Gi"}}]),
        "spec.blockDeviceMappings[0].deviceName",
        "is missing",
    ),
    "old device without a name within a provisioner": Refused(
        only(
            provisioner_tree(),
            provider={
                "subnetSelector": {"a": "b"},
                "securityGroupSelector": {"a": "b"},
                "blockDeviceMappings": [{"ebs": {"volumeSize": "20Gi"}}],
            },
        ),
        "spec.provider.blockDeviceMappings[0].deviceName",
        "is missing",
    ),
    "old volume without size": Refused(
        template(blockDeviceMappings=[{"deviceName": "a", "ebs": {}}]),
        "spec.blockDeviceMappings[0].ebs",
        "needs volumeSize or snapshotID",
    ),
    "old 0 hops": Refused(
        template(metadataOptions={"httpPutResponseHopLimit": 0}),
        "spec.metadataOptions.httpPutResponseHopLimit",
        "should be greater than or equal to 1",
        "0 is not between 1 and 64",
    ),
    "old profile beside a template": Refused(
        only(template(), **TEMPLATE, instanceProfile="a"),
        "spec.instanceProfile",
        "cannot stand beside launchTemplate, which says it",
    ),
}

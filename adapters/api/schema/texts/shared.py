"""Texts of what several kinds have in common. A field's is under its name, a model's own under ""."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from treenail.adapters.api.karpenter.references import NodeClassRefModel, ProviderRefModel
from treenail.adapters.api.karpenter.requirements import OldRequirementModel, RequirementModel
from treenail.adapters.api.karpenter.v1alpha1_node_overlay import OverlayRequirementModel
from treenail.adapters.api.kubelet import KubeletModel, OldKubeletModel
from treenail.adapters.api.metadata import ConditionModel, TemplateMetadata
from treenail.adapters.api.selectors import StrictTaintModel, TaintModel

Texts: TypeAlias = Mapping[type, Mapping[str, str]]

_REQUIREMENT: Final = {
    "": "A requirement on a label of a node.",
    "key": "The label's key.",
    "operator": "The relation of the label's value to the values. Gt, Lt, Gte and Lte compare whole numbers.",
    "values": "The values that the label's value is compared with.",
}

SHARED: Final[Texts] = {
    NodeClassRefModel: {
        "group": "The API group of the node class.",
        "kind": "The kind of the node class.",
        "name": "The name of the node class.",
    },
    ProviderRefModel: {
        "apiVersion": "The API group and version of the node template; left out, that of its kind.",
        "kind": "The kind of the node template, AWSNodeTemplate where it is left out.",
        "name": "The name of the node template.",
    },
    RequirementModel: {
        **_REQUIREMENT,
        "minValues": "The least number of different values that the instance types left must have.",
    },
    OldRequirementModel: _REQUIREMENT,
    OverlayRequirementModel: _REQUIREMENT,
    TaintModel: {
        "key": "The taint's key.",
        "value": "The taint's value.",
        "effect": "The effect on pods that do not tolerate the taint.",
    },
    StrictTaintModel: {"timeAdded": "The time at which the taint was added."},
    TemplateMetadata: {
        "labels": "Labels that the nodes get.",
        "annotations": "Annotations that the nodes get.",
    },
    KubeletModel: {
        "clusterDNS": "IP addresses of the cluster's DNS server.",
        "maxPods": "The most pods a node takes, whatever its network interfaces would allow.",
        "podsPerCore": "The most pods a node takes for each of its cores.",
        "systemReserved": "Resources kept for the daemons of the operating system.",
        "kubeReserved": "Resources kept for the daemons of Kubernetes.",
        "evictionHard": "Thresholds under which pods are evicted at once: quantities, or percentages.",
        "evictionSoft": "Thresholds under which pods are evicted after a grace period.",
        "evictionSoftGracePeriod": "The time each soft threshold must be met before pods are evicted.",
        "evictionMaxPodGracePeriod": "The longest grace period, in seconds, of a pod that is evicted softly.",
        "imageGCHighThresholdPercent": "The use of the disk above which unused images are always removed.",
        "imageGCLowThresholdPercent": "The use of the disk below which unused images are never removed.",
        "cpuCFSQuota": "Enforcement of CPU limits.",
    },
    OldKubeletModel: {"containerRuntime": "The container runtime."},
    ConditionModel: {
        "type": "The type of the condition.",
        "status": "True, False or Unknown.",
        "reason": "Why, in one word for programs.",
        "message": "Why, for people.",
        "lastTransitionTime": "The time at which the status last changed.",
    },
}

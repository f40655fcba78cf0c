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
    "": "What a label of a node must be like.",
    "key": "The label's key.",
    "operator": "How the label's value stands to the values. Gt, Lt, Gte and Lte compare whole numbers.",
    "values": "What the label's value is compared with.",
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
        "minValues": "How many different values instance types must leave to choose from at least.",
    },
    OldRequirementModel: _REQUIREMENT,
    OverlayRequirementModel: _REQUIREMENT,
    TaintModel: {
        "key": "The taint's key.",
        "value": "The taint's value.",
        "effect": "What the taint does to pods that do not tolerate it.",
    },
    StrictTaintModel: {"timeAdded": "When the taint was added."},
    TemplateMetadata: {
        "labels": "Labels that the nodes get.",
        "annotations": "Annotations that the nodes get.",
    },
    KubeletModel: {
        "clusterDNS": "IP addresses of the cluster's DNS server.",
        "maxPods": "How many pods a node takes at most, whatever its network interfaces would allow.",
        "podsPerCore": "How many pods a node takes at most for each of its cores.",
        "systemReserved": "What is kept for the daemons of the operating system.",
        "kubeReserved": "What is kept for the daemons of Kubernetes.",
        "evictionHard": "Thresholds under which pods are evicted at once: quantities, or percentages.",
        "evictionSoft": "Thresholds under which pods are evicted after a grace period.",
        "evictionSoftGracePeriod": "How long each soft threshold must be met before pods are evicted.",
        "evictionMaxPodGracePeriod": "The longest grace period, in seconds, of a pod that is evicted softly.",
        "imageGCHighThresholdPercent": "The use of the disk above which unused images are always removed.",
        "imageGCLowThresholdPercent": "The use of the disk below which unused images are never removed.",
        "cpuCFSQuota": "Whether limits of CPU are enforced.",
    },
    OldKubeletModel: {"containerRuntime": "The container runtime."},
    ConditionModel: {
        "type": "What the condition is about.",
        "status": "Whether it holds.",
        "reason": "Why, in one word for programs.",
        "message": "Why, for people.",
        "lastTransitionTime": "When the status last changed.",
    },
}

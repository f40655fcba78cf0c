"""Texts of pools, claims and node overlays, of both generations."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.karpenter.claims import ClaimSpecModel, ClaimStatusModel, RequestsModel
from treenail.adapters.api.karpenter.v1_node_claim import (
    NodeClaimConditionModel,
    NodeClaimModel,
    NodeClaimSpecModel,
    NodeClaimStatusModel,
)
from treenail.adapters.api.karpenter.v1_node_pool import (
    BudgetModel,
    DisruptionModel,
    NodePoolModel,
    NodePoolSpecModel,
    NodeTemplateModel,
    NodeTemplateSpecModel,
)
from treenail.adapters.api.karpenter.v1alpha1_node_overlay import NodeOverlayModel, NodeOverlaySpecModel
from treenail.adapters.api.karpenter.v1alpha5_machine import (
    MachineConditionModel,
    MachineModel,
    MachineSpecModel,
    MachineStatusModel,
)
from treenail.adapters.api.karpenter.v1alpha5_provisioner import (
    ConsolidationModel,
    LimitsModel,
    ProvisionerModel,
    ProvisionerSpecModel,
)
from treenail.adapters.api.schema.texts.shared import Texts

_TAINTS: Final = "Taints that the nodes get: only pods that tolerate them come onto the nodes."
_STARTUP_TAINTS: Final = (
    "Taints that nodes start with and something else takes off, such as a daemon when it is ready."
    " Pods need not tolerate them to get a node."
)
_GRACE: Final = (
    "How long a node is drained at most before the rest of its pods are deleted, whatever holds them."
)

POOLS_AND_CLAIMS: Final[Texts] = {
    NodeOverlayModel: {
        "": "What instance types cost you, and what extended resources their nodes will have.",
        "spec": "What is said of which instance types.",
    },
    NodeOverlaySpecModel: {
        "": "What is said of which instance types.",
        "requirements": (
            "Which instance types, zones and ways to buy it is about, by well-known labels and by those that"
            " pools give their nodes. Without any it is about all."
        ),
        "price": "The price in US dollars per hour, in place of the published one.",
        "priceAdjustment": "What is added to the price, in US dollars per hour or per cent; never below 0.",
        "capacity": (
            "Extended resources that nodes will have. Something else must offer them there, such as a device"
            " plugin."
        ),
        "weight": "Which overlay counts where several are: that with the larger weight. None counts as 0.",
    },
    NodePoolModel: {
        "": "A pool of nodes that may be bought for pods that fit nowhere.",
        "spec": "What is wanted.",
    },
    NodePoolSpecModel: {
        "": "What is wanted of the pool.",
        "template": "What the pool's nodes are like.",
        "disruption": "When, and how many at a time, nodes are given back.",
        "limits": "What all nodes of the pool together may have, and under `nodes` how many they may be.",
        "weight": "Which pool is tried first: the one with the larger weight. None counts as 0.",
        "replicas": "How many nodes the pool has, whatever the pods need. Such a pool is static.",
    },
    NodeTemplateModel: {
        "metadata": "Labels and annotations of the nodes.",
        "spec": "How the nodes are bought and set up.",
    },
    NodeTemplateSpecModel: {
        "": "What the pool's nodes are like.",
        "requirements": "What may be bought, by the labels the nodes would have.",
        "nodeClassRef": "The node class that says how instances are made. Its group and kind must stay.",
        "taints": _TAINTS,
        "startupTaints": _STARTUP_TAINTS,
        "terminationGracePeriod": _GRACE,
        "expireAfter": "How old a node becomes before it is replaced, or Never. 720h where it is left out.",
    },
    DisruptionModel: {
        "consolidateAfter": "How long a node is left alone after its pods changed, or Never.",
        "consolidationPolicy": "Which nodes may be given back. WhenEmptyOrUnderutilized if left out.",
        "budgets": "How many nodes may be given back at a time; the strictest counts. 10% if left out.",
    },
    BudgetModel: {
        "nodes": "A number of nodes, or a percentage of the pool's. 10% where it is left out.",
        "reasons": "For which reasons it counts; for all where it is left out.",
        "schedule": "When it begins to count, as a cron schedule in UTC. Always, where it is left out.",
        "duration": "How long it counts from each time of its schedule on, in hours and minutes.",
    },
    ClaimSpecModel: {
        "resources": "What the node must have room for.",
        "taints": _TAINTS,
        "startupTaints": _STARTUP_TAINTS,
    },
    RequestsModel: {"requests": "What the pods need that the claim was made for."},
    ClaimStatusModel: {
        "nodeName": "The name of the node.",
        "providerID": "The instance, as the node names it.",
        "imageID": "The image that the instance was started from.",
        "capacity": "What the node has.",
        "allocatable": "What of it pods may use.",
    },
    NodeClaimModel: {
        "": "A claim on one node: made for pods, then bought as an instance.",
        "spec": "What is wanted; it never changes.",
        "status": "What there is.",
    },
    NodeClaimSpecModel: {
        "": "What is wanted of the node.",
        "requirements": "What may be bought, by the labels the node would have.",
        "nodeClassRef": "The node class that says how the instance is made.",
        "terminationGracePeriod": _GRACE,
        "expireAfter": "How old the node becomes before it is replaced, or Never.",
    },
    NodeClaimStatusModel: {
        "": "What there is of the claim.",
        "conditions": "How far the claim is.",
        "lastPodEventTime": "When a pod last came onto the node or left it.",
    },
    NodeClaimConditionModel: {"observedGeneration": "The generation of the object that it tells of."},
    ProvisionerModel: {
        "": "A pool of nodes that may be bought for pods that fit nowhere, in the words of v1alpha5.",
        "spec": "What is wanted.",
    },
    ProvisionerSpecModel: {
        "": "What is wanted of the pool.",
        "annotations": "Annotations that the nodes get.",
        "labels": "Labels that the nodes get.",
        "taints": _TAINTS,
        "startupTaints": _STARTUP_TAINTS,
        "requirements": "What may be bought, by the labels the nodes would have.",
        "kubeletConfiguration": "Settings of the nodes' kubelet.",
        "provider": "How instances are made. Use providerRef instead.",
        "providerRef": "The node template that says how instances are made.",
        "ttlSecondsAfterEmpty": "How long an empty node is kept. For ever, where it is left out.",
        "ttlSecondsUntilExpired": "How old a node becomes before it is replaced.",
        "limits": "What all nodes of the pool together may have.",
        "weight": "Which pool is tried first: the one with the larger weight. None counts as 0.",
        "consolidation": "Whether nodes are replaced by fewer or cheaper ones.",
    },
    LimitsModel: {"resources": "Amounts by the name of the resource."},
    ConsolidationModel: {"enabled": "Whether they are."},
    MachineModel: {
        "": "A claim on one node, in the words of v1alpha5.",
        "spec": "What is wanted.",
        "status": "What there is.",
    },
    MachineSpecModel: {
        "": "What is wanted of the node.",
        "requirements": "What may be bought, by the labels the node would have.",
        "kubelet": "Settings of the node's kubelet.",
        "machineTemplateRef": "The node template that says how the instance is made.",
    },
    MachineStatusModel: {"": "What there is of the claim.", "conditions": "How far the claim is."},
    MachineConditionModel: {"severity": "How bad it is that the condition does not hold."},
}

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
    "The longest time a node is drained before the rest of its pods are deleted, whatever holds them."
)

POOLS_AND_CLAIMS: Final[Texts] = {
    NodeOverlayModel: {
        "": "Prices of instance types for you, and extended resources that their nodes will have.",
        "spec": "The instance types, and the price and capacity that replace theirs.",
    },
    NodeOverlaySpecModel: {
        "": "The instance types, and the price and capacity that replace theirs.",
        "requirements": (
            "The instance types, zones and capacity types it is about, by well-known labels and those that"
            " pools give their nodes. Without any it is about all."
        ),
        "price": "The price in US dollars per hour, in place of the published one.",
        "priceAdjustment": "An amount added to the price, in US dollars per hour or per cent; never below 0.",
        "capacity": (
            "Extended resources that nodes will have. Something else must offer them there, such as a device"
            " plugin."
        ),
        "weight": "Where several overlays apply, the one with the largest weight counts. None counts as 0.",
    },
    NodePoolModel: {
        "": "A pool of nodes that may be bought for pods that fit nowhere.",
        "spec": "The desired state.",
    },
    NodePoolSpecModel: {
        "": "The desired pool.",
        "template": "The template of the pool's nodes.",
        "disruption": "When, and how many at a time, nodes are given back.",
        "limits": "Limits on the sum of the resources of all nodes, and under `nodes` on their number.",
        "weight": "The pool with the largest weight is tried first. None counts as 0.",
        "replicas": "The number of nodes the pool has, whatever the pods need. Such a pool is static.",
    },
    NodeTemplateModel: {
        "metadata": "Labels and annotations of the nodes.",
        "spec": "The requirements and settings of the nodes.",
    },
    NodeTemplateSpecModel: {
        "": "The template of the pool's nodes.",
        "requirements": "Limits on what may be bought, by the labels the nodes would have.",
        "nodeClassRef": "The node class that says how instances are made. Its group and kind must stay.",
        "taints": _TAINTS,
        "startupTaints": _STARTUP_TAINTS,
        "terminationGracePeriod": _GRACE,
        "expireAfter": "The age at which a node is replaced, or Never. 720h where it is left out.",
    },
    DisruptionModel: {
        "consolidateAfter": "The time a node is left alone after its pods changed, or Never.",
        "consolidationPolicy": "The nodes that may be given back. WhenEmptyOrUnderutilized if left out.",
        "budgets": "Limits on the nodes given back at a time; the strictest counts. 10% if left out.",
    },
    BudgetModel: {
        "nodes": "A number of nodes, or a percentage of the pool's. 10% where it is left out.",
        "reasons": "The reasons it counts for; all where it is left out.",
        "schedule": "The times it begins to count at, as a cron schedule in UTC. Always, if left out.",
        "duration": "The time it counts for, from each time of its schedule on, in hours and minutes.",
    },
    ClaimSpecModel: {
        "resources": "The resources the node must have room for.",
        "taints": _TAINTS,
        "startupTaints": _STARTUP_TAINTS,
    },
    RequestsModel: {"requests": "The sum that the pods request for which the claim was made."},
    ClaimStatusModel: {
        "nodeName": "The name of the node.",
        "providerID": "The instance, as the node names it.",
        "imageID": "The image that the instance was started from.",
        "capacity": "The resources of the node.",
        "allocatable": "The part of its capacity that pods may use.",
    },
    NodeClaimModel: {
        "": "A claim on one node: made for pods, then bought as an instance.",
        "spec": "The desired state; it never changes.",
        "status": "The observed state.",
    },
    NodeClaimSpecModel: {
        "": "The desired node.",
        "requirements": "Limits on what may be bought, by the labels the node would have.",
        "nodeClassRef": "The node class that says how the instance is made.",
        "terminationGracePeriod": _GRACE,
        "expireAfter": "The age at which the node is replaced, or Never.",
    },
    NodeClaimStatusModel: {
        "": "The observed state of the claim.",
        "conditions": "The stages the claim has reached.",
        "lastPodEventTime": "The time at which a pod last came onto the node or left it.",
    },
    NodeClaimConditionModel: {"observedGeneration": "The generation of the object that it tells of."},
    ProvisionerModel: {
        "": "A pool of nodes that may be bought for pods that fit nowhere, in the words of v1alpha5.",
        "spec": "The desired state.",
    },
    ProvisionerSpecModel: {
        "": "The desired pool.",
        "annotations": "Annotations that the nodes get.",
        "labels": "Labels that the nodes get.",
        "taints": _TAINTS,
        "startupTaints": _STARTUP_TAINTS,
        "requirements": "Limits on what may be bought, by the labels the nodes would have.",
        "kubeletConfiguration": "Settings of the nodes' kubelet.",
        "provider": "Settings of the instances. Use providerRef instead.",
        "providerRef": "The node template that says how instances are made.",
        "ttlSecondsAfterEmpty": "The time an empty node is kept, in seconds. For ever, where it is left out.",
        "ttlSecondsUntilExpired": "The age at which a node is replaced, in seconds.",
        "limits": "Limits on the resources of all nodes of the pool together.",
        "weight": "The pool with the largest weight is tried first. None counts as 0.",
        "consolidation": "Replacement of nodes by fewer or cheaper ones.",
    },
    LimitsModel: {"resources": "Amounts by the name of the resource."},
    ConsolidationModel: {"enabled": "Turns it on."},
    MachineModel: {
        "": "A claim on one node, in the words of v1alpha5.",
        "spec": "The desired state.",
        "status": "The observed state.",
    },
    MachineSpecModel: {
        "": "The desired node.",
        "requirements": "Limits on what may be bought, by the labels the node would have.",
        "kubelet": "Settings of the node's kubelet.",
        "machineTemplateRef": "The node template that says how the instance is made.",
    },
    MachineStatusModel: {
        "": "The observed state of the claim.",
        "conditions": "The stages the claim has reached.",
    },
    MachineConditionModel: {"severity": "The severity of the condition where it does not hold."},
}

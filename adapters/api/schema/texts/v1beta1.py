"""Texts of v1beta1, where it differs from v1."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.aws.v1_node_class import EC2NodeClassSpecModel
from treenail.adapters.api.aws.v1_selectors import AmiTermModel
from treenail.adapters.api.aws.v1beta1_node_class import (
    BetaAmiTermModel,
    BetaEC2NodeClassModel,
    BetaEC2NodeClassSpecModel,
)
from treenail.adapters.api.karpenter.references import NodeClassByVersionModel
from treenail.adapters.api.karpenter.requirements import BetaRequirementModel
from treenail.adapters.api.karpenter.v1_node_claim import NodeClaimModel, NodeClaimSpecModel
from treenail.adapters.api.karpenter.v1_node_pool import (
    BudgetModel,
    DisruptionModel,
    NodePoolModel,
    NodePoolSpecModel,
    NodeTemplateModel,
    NodeTemplateSpecModel,
)
from treenail.adapters.api.karpenter.v1beta1_node_claim import BetaNodeClaimModel, BetaNodeClaimSpecModel
from treenail.adapters.api.karpenter.v1beta1_node_pool import (
    BetaBudgetModel,
    BetaDisruptionModel,
    BetaNodePoolModel,
    BetaNodePoolSpecModel,
    BetaNodeTemplateModel,
    BetaNodeTemplateSpecModel,
)
from treenail.adapters.api.schema.texts.node_classes import NODE_CLASSES
from treenail.adapters.api.schema.texts.pools_and_claims import POOLS_AND_CLAIMS
from treenail.adapters.api.schema.texts.shared import Texts

_KUBELET: Final = "Settings of the nodes' kubelet."
_REF: Final = "The node class that says how instances are made."

V1BETA1: Final[Texts] = {
    NodeClassByVersionModel: {
        "": "A reference to the node class.",
        "apiVersion": "The API group and version of the node class; left out, those of EC2NodeClass.",
        "kind": "The kind of the node class, EC2NodeClass where it is left out.",
        "name": "The name of the node class.",
    },
    BetaRequirementModel: {
        "minValues": "The least number of different values that the instance types left must have.",
    },
    BetaNodePoolModel: POOLS_AND_CLAIMS[NodePoolModel],
    BetaNodePoolSpecModel: POOLS_AND_CLAIMS[NodePoolSpecModel],
    BetaNodeTemplateModel: POOLS_AND_CLAIMS[NodeTemplateModel],
    BetaNodeTemplateSpecModel: {
        **POOLS_AND_CLAIMS[NodeTemplateSpecModel],
        "nodeClassRef": _REF,
        "kubelet": _KUBELET,
        "resources": "Nothing: it is for claims alone.",
    },
    BetaDisruptionModel: {
        **POOLS_AND_CLAIMS[DisruptionModel],
        "consolidateAfter": "The time a node is empty before it is given back, or Never. For WhenEmpty.",
        "consolidationPolicy": "The nodes that may be given back. WhenUnderutilized if left out.",
        "expireAfter": "The age at which a node is replaced, or Never. 720h where it is left out.",
    },
    BetaBudgetModel: POOLS_AND_CLAIMS[BudgetModel],
    BetaNodeClaimModel: POOLS_AND_CLAIMS[NodeClaimModel],
    BetaNodeClaimSpecModel: {
        **POOLS_AND_CLAIMS[NodeClaimSpecModel],
        "kubelet": "Settings of the node's kubelet.",
    },
    BetaEC2NodeClassModel: {
        "": "Settings of the instances that nodes on EC2 run on.",
        "spec": "The desired state.",
    },
    BetaEC2NodeClassSpecModel: {
        **NODE_CLASSES[EC2NodeClassSpecModel],
        "amiSelectorTerms": "The images to start from: those of any of the terms, else the family's latest.",
        "amiFamily": "The family of the images, which decides how they are set up.",
        "metadataOptions": "Access to instance metadata. Left out: enabled, IMDSv2 only, for two hops.",
    },
    BetaAmiTermModel: NODE_CLASSES[AmiTermModel],
}

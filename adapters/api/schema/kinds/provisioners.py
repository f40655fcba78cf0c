"""The definition of Provisioner."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.amounts import MOST_IN_ALL
from treenail.adapters.api.karpenter.v1alpha5_provisioner import ProvisionerModel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule, below
from treenail.adapters.api.schema.definitions import Column, Definition, Version
from treenail.adapters.api.schema.rules import label_keys, requirements, taints
from treenail.adapters.api.schema.rules.forms import amounts
from treenail.adapters.api.schema.rules.kubelet import kubelet
from treenail.adapters.api.schema.rules.provider import provider
from treenail.adapters.api.schema.rules.references import provider_ref
from treenail.adapters.api.schema.statuses import ProvisionerStatusModel
from treenail.domain.model.node_pools import Generation

_RULES: Final = (
    Rule("has(self.provider) || has(self.providerRef)", "needs providerRef, or provider"),
    Rule("!has(self.provider) || !has(self.providerRef)", "cannot stand beside provider", "providerRef"),
    Rule(
        "!has(self.ttlSecondsAfterEmpty) || !has(self.consolidation) || !has(self.consolidation.enabled)"
        " || !self.consolidation.enabled",
        "cannot stand beside consolidation.enabled",
        "ttlSecondsAfterEmpty",
    ),
)
_CUSTOM: Final = Rule(
    "!has(self.amiFamily) || self.amiFamily != 'Custom'",
    "Custom needs an amiSelector, and so an AWSNodeTemplate",
    "amiFamily",
)
# A provider may hold anything for the API server: what of it is not known, only its reader can say.
_KEPT: Final = {"x-kubernetes-preserve-unknown-fields": True}
# What Go can hold as a duration.
_SECONDS: Final = Constraint(keywords={"maximum": (2**63 - 1) // 10**9})

_SPEC: Final[Constraints] = {
    "": Constraint([*_RULES, *taints.differ()]),
    **taints.both(""),
    **label_keys.own_labels("labels", Generation.V1ALPHA5),
    **label_keys.own_annotations("annotations"),
    **requirements.of_pool("requirements", Generation.V1ALPHA5),
    **kubelet("kubeletConfiguration"),
    **provider("provider", _CUSTOM, keywords=_KEPT),
    **provider_ref("providerRef"),
    **amounts("limits.resources", most=MOST_IN_ALL),
    "ttlSecondsAfterEmpty": _SECONDS,
    "ttlSecondsUntilExpired": _SECONDS,
}

_V1ALPHA5: Final = Version(
    name="v1alpha5",
    model=ProvisionerModel,
    status=ProvisionerStatusModel,
    constraints=below(
        "",
        {"": Constraint([Rule("has(self.spec)", "is missing: it needs providerRef, or provider", "spec")])},
        below("spec", _SPEC),
    ),
    columns=(
        Column("Template", ".spec.providerRef.name"),
        Column("Weight", ".spec.weight", "integer", wide=True),
    ),
)

PROVISIONERS: Final = Definition(
    group="karpenter.sh", kind="Provisioner", plural="provisioners", versions=(_V1ALPHA5,)
)

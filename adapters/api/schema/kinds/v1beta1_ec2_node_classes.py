"""EC2NodeClass in v1beta1."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.aws.v1beta1_node_class import (
    BETA_RESTRICTED_TAGS,
    HOP_LIMIT,
    BetaEC2NodeClassModel,
)
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Version, condition
from treenail.adapters.api.schema.rules import selector_terms
from treenail.adapters.api.schema.rules.launch import block_devices, metadata_options, tags
from treenail.adapters.api.schema.statuses import EC2NodeClassStatusModel

_ROLE: Final = Rule(
    "has(self.role) != has(self.instanceProfile)", "needs exactly one of role and instanceProfile"
)
_CUSTOM: Final = Rule(
    f"self.amiFamily != 'Custom' || {cel.given('amiSelectorTerms')}",
    "is missing: amiFamily Custom needs it",
    "amiSelectorTerms",
)

EC2_NODE_CLASSES_V1BETA1: Final = Version(
    name="v1beta1",
    model=BetaEC2NodeClassModel,
    status=EC2NodeClassStatusModel,
    constraints=below(
        "spec",
        {"": Constraint([_ROLE, _CUSTOM])},
        selector_terms.subnets("subnetSelectorTerms"),
        selector_terms.security_groups("securityGroupSelectorTerms"),
        selector_terms.images_of_v1beta1("amiSelectorTerms"),
        tags("tags", restricted=BETA_RESTRICTED_TAGS, prefix="kubernetes.io/cluster"),
        block_devices("blockDeviceMappings"),
        metadata_options("metadataOptions", hop_limit=HOP_LIMIT),
    ),
    columns=(condition("Ready"), AGE, Column("Role", ".spec.role", wide=True)),
)

"""The definition of AWSNodeTemplate."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.aws.v1alpha1_node_template import AWSNodeTemplateModel
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Rule, below
from treenail.adapters.api.schema.definitions import Definition, Version
from treenail.adapters.api.schema.rules.provider import image_selector, provider, said_by_template
from treenail.adapters.api.schema.statuses import AWSNodeTemplateStatusModel

_CUSTOM: Final = Rule(
    f"!has(self.amiFamily) || self.amiFamily != 'Custom' || {cel.given('amiSelector')}",
    "is missing: amiFamily Custom needs it",
    "amiSelector",
)

_V1ALPHA1: Final = Version(
    name="v1alpha1",
    model=AWSNodeTemplateModel,
    status=AWSNodeTemplateStatusModel,
    constraints=below(
        "",
        provider("spec", _CUSTOM, *said_by_template(("userData", "amiSelector"))),
        image_selector("spec.amiSelector"),
    ),
)

AWS_NODE_TEMPLATES: Final = Definition(
    group="karpenter.k8s.aws", kind="AWSNodeTemplate", plural="awsnodetemplates", versions=(_V1ALPHA1,)
)

"""karpenter.k8s.aws/v1alpha1 AWSNodeTemplate."""

from __future__ import annotations

from typing import Any

from msgspec import field

from treenail.adapters.api.aws.v1alpha1_provider import ProviderModel, provider
from treenail.adapters.api.aws.v1alpha1_selectors import image_terms
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_classes import NodeClassRef


class AWSNodeTemplateSpecModel(ProviderModel, kw_only=True):
    """The spec of an AWSNodeTemplate."""

    user_data: str = ""
    ami_selector: dict[str, str] = field(default_factory=dict)
    detailed_monitoring: bool | None = None


class AWSNodeTemplateModel(StrictObject, kw_only=True):
    """karpenter.k8s.aws/v1alpha1 AWSNodeTemplate. Its status is ours to write and not to read."""

    spec: AWSNodeTemplateSpecModel
    status: dict[str, Any] = field(default_factory=dict)


def node_template(model: AWSNodeTemplateModel, _reading: Reading) -> Translation:
    """Return the node class; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    if spec.launch_template is not None:
        for name, value in (("userData", spec.user_data), ("amiSelector", spec.ami_selector)):
            if value:
                raise FieldError(f"spec.{name}", "cannot stand beside launchTemplate, which says it")
    if spec.ami_family == "Custom" and not spec.ami_selector:
        raise FieldError("spec.amiSelector", "is missing: amiFamily Custom needs it")
    own = provider(
        spec,
        NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", meta.name),
        meta,
        "spec",
        ami_terms=image_terms(spec.ami_selector, "spec.amiSelector") if spec.ami_selector else (),
        user_data=spec.user_data,
        detailed_monitoring=bool(spec.detailed_monitoring),
    )
    return Translation(objects=(own,))

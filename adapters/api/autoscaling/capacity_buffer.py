"""autoscaling.x-k8s.io CapacityBuffer, whose versions v1beta1 and v1alpha1 say the same."""

from __future__ import annotations

from typing import Any

from msgspec import field

from treenail.adapters.api.amounts import MOST_IN_ALL, resources
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import NotEmpty, NotNegative, PlainQuantities, StrictModel
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.capacity_buffers import ACTIVE, CapacityBuffer, ScalableRef

STRATEGY = ACTIVE
_ONE_OF_BOTH = "cannot stand beside spec.podTemplateRef"
_NO_NUMBER = "needs spec.replicas or spec.limits beside it"


class PodTemplateRefModel(StrictModel, kw_only=True):
    """A PodTemplate of the namespace."""

    name: NotEmpty


class ScalableRefModel(StrictModel, kw_only=True):
    """A workload of the namespace."""

    api_group: str = ""
    kind: NotEmpty
    name: NotEmpty


class CapacityBufferSpecModel(StrictModel):
    """The spec of a CapacityBuffer."""

    provisioning_strategy: str = STRATEGY
    pod_template_ref: PodTemplateRefModel | None = None
    scalable_ref: ScalableRefModel | None = None
    replicas: NotNegative | None = None
    percentage: NotNegative | None = None
    limits: PlainQuantities | None = None


class CapacityBufferModel(StrictObject, kw_only=True):
    """autoscaling.x-k8s.io CapacityBuffer. Its status is ours to write and not to read."""

    spec: CapacityBufferSpecModel
    status: dict[str, Any] = field(default_factory=dict)


def capacity_buffer(model: CapacityBufferModel, _reading: Reading) -> Translation:
    """Return the buffer; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    if spec.pod_template_ref is not None and spec.scalable_ref is not None:
        raise FieldError("spec.scalableRef", _ONE_OF_BOTH)
    if spec.pod_template_ref is not None and spec.replicas is None and spec.limits is None:
        raise FieldError("spec.podTemplateRef", _NO_NUMBER)
    ref = spec.scalable_ref
    found = CapacityBuffer(
        **meta.identity,
        namespace=meta.namespace or "default",
        generation=meta.generation,
        deleting=meta.deletion_timestamp is not None,
        strategy=spec.provisioning_strategy,
        template=spec.pod_template_ref.name if spec.pod_template_ref is not None else "",
        scalable=ScalableRef(ref.kind, ref.name, ref.api_group) if ref is not None else None,
        replicas=spec.replicas,
        percentage=spec.percentage,
        limits=None if spec.limits is None else resources(spec.limits, "spec.limits", most=MOST_IN_ALL),
    )
    ignored = spec.percentage is not None and ref is None
    return Translation(objects=(found,), not_acted_on=("spec.percentage",) if ignored else ())

"""karpenter.kwok.sh/v1alpha1 KWOKNodeClass."""

from __future__ import annotations

from typing import Any

from msgspec import field

from treenail.adapters.api.amounts import Duration, duration
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import StrictModel
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_classes import NodeClass, NodeClassRef


class KWOKNodeClassSpecModel(StrictModel):
    """The spec of a KWOKNodeClass: how long Karpenter's provider waits before it makes the node."""

    node_registration_delay: Duration | None = None


class KWOKNodeClassModel(StrictObject, kw_only=True):
    """karpenter.kwok.sh/v1alpha1 KWOKNodeClass. Its status is given by the API server, and not read."""

    spec: KWOKNodeClassSpecModel = field(default_factory=KWOKNodeClassSpecModel)
    status: dict[str, Any] = field(default_factory=dict)


def kwok_node_class(model: KWOKNodeClassModel, _reading: Reading) -> Translation:
    """Return the node class, which says nothing of EC2; FieldError says what is wrong with it."""
    meta, delay = model.metadata, model.spec.node_registration_delay
    meta.validate()
    if delay is not None:
        duration(delay, "spec.nodeRegistrationDelay")
    own = NodeClass(
        ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", meta.name),
        uid=meta.uid,
        resource_version=meta.version,
        generation=meta.generation,
        deleting=meta.deletion_timestamp is not None,
    )
    return Translation(objects=(own,), not_acted_on=("spec.nodeRegistrationDelay",) if delay else ())

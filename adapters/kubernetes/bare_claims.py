"""Claims that are not to be understood, as far as they say which instance is theirs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from treenail.adapters.kubernetes.resources import MACHINE, Resource
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeClaim

_NO_CLASS: Final = NodeClassRef("", "", "")


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str
    creation_timestamp: datetime
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class _Claim(msgspec.Struct):
    metadata: _Metadata
    status: Any = None


_DECODER: Final = msgspec.json.Decoder(_Claim)


def bare_claim(resource: Resource, content: bytes) -> NodeClaim:
    """Return a claim with its metadata and, where it can be told, the provider id: so its instance is known.

    Raises:
        UnavailableError: not even the metadata is as the API server writes it.
    """
    try:
        read = _DECODER.decode(content)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"{resource}: a claim has no metadata: {error}") from None
    meta = read.metadata
    generation = Generation.V1ALPHA5 if resource == MACHINE else Generation.V1
    provider_id = read.status.get("providerID") if isinstance(read.status, dict) else None
    return NodeClaim(
        name=meta.name,
        uid=meta.uid,
        resource_version=int(meta.resource_version),
        generation=generation,
        pool=meta.labels.get(generation.pool_label, ""),
        node_class=_NO_CLASS,
        labels=meta.labels,
        annotations=meta.annotations,
        finalizers=meta.finalizers,
        created_at=meta.creation_timestamp.astimezone(UTC),
        deleting_since=meta.deletion_timestamp.astimezone(UTC) if meta.deletion_timestamp else None,
        provider_id=provider_id if isinstance(provider_id, str) else "",
    )

"""Which volumes are attached to which node, as the API server has it."""

from __future__ import annotations

from typing import Final

import msgspec

from treenail.domain.model.errors import UnavailableError


class _Source(msgspec.Struct, rename="camel"):
    persistent_volume_name: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str
    source: _Source


class _VolumeAttachment(msgspec.Struct):
    spec: _Spec


_DECODER: Final = msgspec.json.Decoder(_VolumeAttachment)


def attached_volume(content: bytes, node: str) -> str | None:
    """Return the persistent volume that a VolumeAttachment holds at `node`; None where it holds none there.

    Raises:
        UnavailableError: it is no VolumeAttachment.
    """
    try:
        spec = _DECODER.decode(content).spec
    except msgspec.DecodeError as error:
        raise UnavailableError(f"an attachment of a volume cannot be read: {error}") from None
    return spec.source.persistent_volume_name if spec.node_name == node else None

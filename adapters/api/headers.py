"""The header of an object: its name, uid and resource version, read before anything else."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from treenail.domain.model.errors import UnavailableError


class Header(msgspec.Struct, rename="camel"):
    """The metadata that identifies an object and its version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def version(self) -> int:
        """The resource version as a number. Raises ValueError where it is none."""
        return int(self.resource_version)


H = TypeVar("H", bound=Header)


class Headed(msgspec.Struct, Generic[H]):
    """An object; only its header is read."""

    metadata: H


_HEADED: Final = msgspec.json.Decoder(Headed[Header])


def read_header(content: bytes | msgspec.Raw, asked: str) -> Header:
    """Return what an object is called; UnavailableError where it does not say."""
    return of(_HEADED, content, asked)


def of(decoder: msgspec.json.Decoder[Headed[H]], content: bytes | msgspec.Raw, asked: str) -> H:
    """Return the header that a decoder makes out; UnavailableError where there is none."""
    try:
        header = decoder.decode(content).metadata
    except msgspec.DecodeError as error:
        raise UnavailableError(f"{asked}: an object has no metadata: {error}") from None
    if not header.resource_version.isdecimal():
        raise UnavailableError(f"{asked}: {header.name!r} has no resource version")
    return header

"""Certificate authorities that all replicas share: the current one, and older ones still valid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from treenail.adapters.controller.webhook.certificates import (
    Certificate,
    UnreadableError,
    ends_at,
    new_authority,
    read_authority,
    split,
)

# As they are called in the Secret: the newest certificate comes first, and the key is its.
CERTIFICATES: Final = "ca.crt"
KEY: Final = "ca.key"


@dataclass(frozen=True, slots=True)
class Authorities:
    """`newest` vouches for what is served from now on; `older` (PEM) for what others may still serve."""

    newest: Certificate
    older: tuple[bytes, ...] = ()

    @classmethod
    def read(cls, data: Mapping[str, bytes]) -> Self:
        """Return what a Secret holds.

        Raises:
            UnreadableError: it holds no authority, or not whole.
        """
        pems = split(data.get(CERTIFICATES, b""))
        return cls(read_authority(pems[0], data.get(KEY, b"")), pems[1:])

    def data(self) -> dict[str, bytes]:
        """Return what a Secret is to hold."""
        return {CERTIFICATES: self.bundle, KEY: self.newest.key}

    @property
    def bundle(self) -> bytes:
        """All of their certificates, PEM, for clients that should trust what they sign."""
        return self.newest.pem + b"".join(self.older)

    def trusted_by(self, bundle: bytes) -> bool:
        """True if who trusts `bundle` (PEM) trusts what the newest vouches for."""
        try:
            return self.newest.pem in split(bundle)
        except UnreadableError:
            return False

    def renewed(self, now: datetime) -> Authorities:
        """Return the authorities without those that have ended, and with a new one in front if it is due."""
        due = self.newest.due(now)
        known = (self.newest.pem, *self.older) if due else self.older
        held = tuple(pem for pem in known if ends_at(pem) > now)
        if not due:
            return self if held == self.older else Authorities(self.newest, held)
        return Authorities(new_authority(now), held)

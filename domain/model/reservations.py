"""Capacity reservations, as nodes in them name them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from treenail.domain.model import labels

DEFAULT: Final = "default"
CAPACITY_BLOCK: Final = "capacity-block"


@dataclass(frozen=True, slots=True, order=True)
class Reservation:
    """A capacity reservation as nodes in it name it. `kind` is "default" or "capacity-block".

    An `interruptible` reservation is lent by its owner, who may take it back.
    """

    id: str
    kind: str = DEFAULT
    interruptible: bool = False

    @property
    def block(self) -> bool:
        """True if it is for a time that was agreed on, at the end of which its instances are ended."""
        return self.kind == CAPACITY_BLOCK

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of nodes in it."""
        return {
            labels.RESERVATION_ID: self.id,
            labels.RESERVATION_TYPE: self.kind,
            labels.RESERVATION_INTERRUPTIBLE: "true" if self.interruptible else "false",
        }

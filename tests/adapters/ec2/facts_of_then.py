"""What AWS said otherwise of some types when Karpenter's reference was made than it says now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from treenail.adapters.ec2.records import TypeRecord


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that changed: of which types or families, and what `field` of their records was before."""

    why: str
    field: str
    before: Mapping[str, int]

    def earlier(self, record: TypeRecord) -> TypeRecord:
        """Return `record` as it would have been."""
        known = self.before.get(record.name, self.before.get(record.family))
        if known is None:
            return record
        changed: dict[str, Any] = {self.field: known}
        return msgspec.structs.replace(record, **changed)


# Announced after the limits that the reference was made with.
_METAL_24_48: Final = ("c8gb", "c8gn", "m8gb", "m8gn", "r8gb", "r8gn")
_METAL_48_96: Final = ("c8ib", "m8ib", "m8idb", "m8idn", "m8in", "r8ib", "r8idb", "r8idn", "r8in")
_WITHOUT_LIMITS: Final = (
    *("c9g", "c9gd", "hpc7g", "i4i.large"),
    *(f"{family}.metal-{size}xl" for family in _METAL_24_48 for size in (24, 48)),
    *(f"{family}.metal-{size}xl" for family in _METAL_48_96 for size in (48, 96)),
)

CHANGES: Final = (
    Change(
        "AWS had published no limits of their branch interfaces",
        "branch_interfaces",
        dict.fromkeys(_WITHOUT_LIMITS, 0),
    ),
    Change(
        "EC2 described one network card with all interfaces, and now describes two with half of them each",
        "interfaces",
        {"i7ie.48xlarge": 15, "i7ie.metal-48xl": 15, "i8ge.48xlarge": 24, "i8ge.metal-48xl": 24},
    ),
    Change(
        "EC2 described processors of another speed",
        "clock_mhz",
        {"c9g": 2800, "c9gd": 2800, "m9g": 2800, "m9gd": 2800, "i7i": 2400, "i7ie": 3600},
    ),
    Change(
        "the user guide told another bandwidth",
        "network_mbps",
        {"g7.2xlarge": 60000, "g7.4xlarge": 60000, "g7.8xlarge": 80000},
    ),
)


def as_of_then(records: Iterable[TypeRecord]) -> tuple[TypeRecord, ...]:
    """Return `records` with the facts as they were when the reference was made."""
    found = tuple(records)
    for change in CHANGES:
        found = tuple(change.earlier(record) for record in found)
    return found

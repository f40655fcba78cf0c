"""Amounts of resources, exactly: as whole billionths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final, TypeAlias

Amounts: TypeAlias = dict[str, int]

_BILLIONTHS: Final = 10**9
_NUMBER: Final = re.compile(r"([+-]?[0-9.]+)([a-zA-Z]*)")
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}


@cache
def amount(text: str) -> int:
    """Return a quantity such as "1500m" or "2Gi" in billionths; ValueError if it is none."""
    match = _NUMBER.fullmatch(text)
    if match is None or match[2] not in {**_DECIMAL, **_BINARY}:
        raise ValueError(f"{text!r} is no quantity")
    number, suffix = Decimal(match[1]), match[2]
    factor = Decimal(1024) ** _BINARY[suffix] if suffix in _BINARY else Decimal(10) ** _DECIMAL[suffix]
    return int((number * factor * _BILLIONTHS).to_integral_value())


def amounts(written: Mapping[str, Any] | None) -> Amounts:
    return {name: amount(str(value)) for name, value in (written or {}).items()}


def add(to: Amounts, more: Mapping[str, int], times: int = 1) -> None:
    """Add `more`, so many times, to `to` in place."""
    for name, value in more.items():
        to[name] = to.get(name, 0) + times * value


def most(of: Iterable[Mapping[str, int]]) -> Amounts:
    """Return the largest of each resource."""
    found: Amounts = {}
    for one in of:
        for name, value in one.items():
            found[name] = max(value, found.get(name, value))
    return found


def short_of(needed: Mapping[str, int], there: Mapping[str, int]) -> list[str]:
    """Return the resources of which more is needed than there is."""
    return sorted(name for name, value in needed.items() if value > there.get(name, 0))


def pod_requests(spec: Mapping[str, Any]) -> Amounts:
    """Return what a pod asks of its node: containers and sidecars, or an init container at its peak."""
    running: Amounts = {}
    for container in spec.get("containers", ()):
        add(running, _of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            add(sidecars, _of(container))
            peak = most((peak, sidecars))
        else:
            at_once = dict(sidecars)
            add(at_once, _of(container))
            peak = most((peak, at_once))
    add(running, sidecars)
    total = most((running, peak))
    add(total, amounts(spec.get("overhead")))
    total["pods"] = _BILLIONTHS
    return total


def _of(container: Mapping[str, Any]) -> Amounts:
    return amounts(container.get("resources", {}).get("requests"))

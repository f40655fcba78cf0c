"""Whether pods bear the taints of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

Written: TypeAlias = Mapping[str, Any]

PREFERRED: Final = "PreferNoSchedule"


def tolerates(tolerations: Sequence[Written], taint: Written) -> bool:
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Written, taint: Written) -> bool:
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def first_refused(
    tolerations: Sequence[Written], taints: Iterable[Written], *, preferred: bool = False
) -> str | None:
    """Return the first taint that is not borne; those that only advise are passed over unless `preferred`."""
    for taint in taints:
        if (preferred or taint["effect"] != PREFERRED) and not tolerates(tolerations, taint):
            return f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
    return None

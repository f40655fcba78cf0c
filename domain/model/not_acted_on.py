"""Words for fields that are accepted though nothing, or not everything, follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_NOT_YET: Final = "accepted, but not acted on yet"
_GATE: Final = "acted on only with FEATURE_GATES=StaticCapacity=true"


def what_follows(path: str) -> str:
    """Return what follows from the field at `path`, as the end of a sentence after "is"."""
    return _GATE if path == "spec.replicas" else _NOT_YET


def not_followed(paths: Sequence[str]) -> str:
    """Return what follows from all of these as one line, "" for none."""
    said: dict[str, list[str]] = {}
    for path in paths:
        said.setdefault(what_follows(path), []).append(path)
    return "; ".join(f"{words}: {', '.join(some)}" for words, some in sorted(said.items()))


def less_gated(warnings: Iterable[str], *, static_capacity: bool) -> tuple[str, ...]:
    """Return warnings less those of fields that are acted on, as the gate `static_capacity` is on."""
    return tuple(line for line in warnings if not (static_capacity and line.endswith(_GATE)))

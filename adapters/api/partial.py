"""Partial reading: an object with fields that cannot be read, less those fields.

Wrong fields are removed from the object, one after the other, until the rest can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from treenail.adapters.api import model as models
from treenail.adapters.api.amounts import MOST_OF_ONE, asked
from treenail.adapters.api.bare import bare
from treenail.adapters.api.errors import FieldError, OverLimitError, UnknownFieldError
from treenail.adapters.api.kinds import ApiKind
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.workloads import ApiObject
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector, Pod

_KINDS: Final = (Kind.POD, Kind.NODE, Kind.NODE_CLAIM, Kind.POD_DISRUPTION_BUDGET, Kind.DAEMON_SET)
# More wrong fields than this, and only what names an object is read of it.
_MOST: Final = 32
_MOST_TOLD: Final = 3
# When something was last as it is tells nothing that an object could not be understood without.
_TIME: Final = re.compile(r"(^|\.)(lastTransitionTime|lastHeartbeatTime|startTime|timeAdded)$")
_AMOUNTS: Final = re.compile(r"^(spec\.resources\.requests|status\.(capacity|allocatable))[.\[]")
# What is longer than any duration we can count with lasts as long as anything does.
_ENDLESS: Final = {"spec.expireAfter": "Never", "spec.terminationGracePeriod": "2562047h"}
_DURATION: Final = re.compile(r"([0-9]+(s|m|h))+")
_GONE: Final = object()


@dataclass(frozen=True, slots=True)
class InPart:
    """The readable part of an object, and what is wrong with it; "" where that does not matter.

    The part is None for kinds that are useless in part.
    """

    object: ClusterObject | None
    problem: str


def read_in_part(kind: Kind, api: ApiKind[Any], content: bytes, reading: Reading, problem: str) -> InPart:
    """Return what can be read of an object that was refused because of `problem`."""
    if kind not in _KINDS:
        return InPart(None, problem)
    try:
        read = _read(api, models.without_nulls(msgspec.json.decode(content)), reading)
        tree = msgspec.json.decode(content) if read is None else None
    except RecursionError:
        return InPart(None, problem)
    if read is None:
        found, wrong = bare(kind, api.api_version, tree), [problem]
    else:
        found, wrong = read
    told = "; ".join(wrong[:_MOST_TOLD])
    return InPart(_marked(found, told, wrong), told)


def _read(api: ApiKind[Any], tree: Any, reading: Reading) -> tuple[Any, list[str]] | None:  # noqa: ANN401
    """Return the object less what is wrong with it, and that; None where too little is left of it."""
    wrong: list[str] = []
    gone: set[str] = set()
    for _ in range(_MOST):
        try:
            return _first(api.read(tree, reading).objects), wrong
        except FieldError as problem:
            mended = _mend(tree, problem)
            if mended is None:
                return None
            # What is missing since it was taken out is not wrong for a second reason.
            if not mended and problem.field not in gone:
                wrong.append(str(problem))
            gone.add(problem.field)
        except Exception:  # noqa: BLE001 (whatever it is, what names the object is still to be had)
            return None
    return None


def _first(objects: tuple[ApiObject, ...]) -> ApiObject:
    return objects[0]


def _mend(tree: Any, problem: FieldError) -> bool | None:  # noqa: ANN401
    """Take out of the tree what is wrong, or put in what is meant; None where nothing can be.

    Return whether nothing is lost by that.
    """
    beyond = isinstance(problem, OverLimitError)
    # An amount that it cannot hold the API server writes as another: what is asked for counts.
    field = ".limits".join(problem.field.rsplit(".requests", 1)) if beyond else problem.field
    way = list(_way(tree, field))
    # What is missing right under spec or status is no reason to do without all of that.
    if not way or (len(way) == 1 and not way[0][2]):
        return None
    at, key, whole = way[-1]
    meant = _meant(problem.field, at[key]) if whole else _GONE
    harmless = beyond or isinstance(problem, UnknownFieldError) or bool(_TIME.search(problem.field))
    if meant is not _GONE:
        at[key] = meant
        return True
    if not harmless:
        at, key = _least_that_may_go(way)
    del at[key]
    return harmless


def _least_that_may_go(way: list[tuple[Any, Any, bool]]) -> tuple[Any, Any]:
    """Return the holder and the key of what goes for something wrong at the end of a way.

    An entry of a list goes as a whole: a toleration without its key would be one of everything.
    """
    entries = [(at, key) for at, key, _ in way if isinstance(at, list)]
    of_container = any(key == "containers" for _, key, _ in way)
    return entries[-1] if entries and not of_container else way[-1][:2]


def _meant(field: str, value: Any) -> Any:  # noqa: ANN401
    """Return the substitute for a value beyond our range, `_GONE` if something else is wrong."""
    if field in _ENDLESS and _DURATION.fullmatch(str(value)):
        return _ENDLESS[field]
    if _AMOUNTS.match(field):
        try:
            amount = asked({"pods": value}, field)["pods"]
        except FieldError:
            return 0 if str(value).startswith("-") else _GONE
        return str(MOST_OF_ONE // 1000) if amount == MOST_OF_ONE else _GONE
    return _GONE


def _way(tree: Any, field: str) -> Iterator[tuple[Any, Any, bool]]:  # noqa: ANN401
    """Yield what stands on the way to a field, as far as it is there: its holder, its key, if it is it."""
    at, rest = tree, field
    while rest:
        step = _step(at, rest)
        if step is None:
            return
        key, rest = step
        yield at, key, not rest
        at = at[key]


def _step(at: Any, rest: str) -> tuple[Any, str] | None:  # noqa: ANN401
    """Return the key by which a path goes on from here, and what is left of the path."""
    if isinstance(at, list):
        index = re.match(r"\[(\d+)\]\.?", rest)
        return (int(index[1]), rest[index.end() :]) if index and int(index[1]) < len(at) else None
    if not isinstance(at, dict):
        return None
    # Keys may have dots in them: the longest that fits is meant.
    for key in sorted(at, key=len, reverse=True):
        for written in (key, f"[{key}]"):
            left = rest.removeprefix(written)
            if left != rest and (not left or left[0] in ".["):
                return key, left.removeprefix(".")
    return None


def _marked(found: ClusterObject | None, told: str, wrong: list[str]) -> ClusterObject | None:
    match found:
        case PodDisruptionBudget() if any(one.startswith("spec.selector") for one in wrong):
            return replace(found, unread=told, selector=LabelSelector())
        case Pod() | Node() | NodeClaim() | PodDisruptionBudget():
            return replace(found, unread=told)
        case _:
            return found

"""Fresh problems: what was decided before must not help to decide again.

The pods of a fresh problem are new objects, and in the `BARE` way each is new down to its strings: no two
pods share a spec, as they do when decoded, and none remembers a hash. All caches of the domain are empty, and
the packer keeps nothing else: see `remembered`. Only the catalogue stays what it was, and its arrays are made
of each pool by packing one small pod that is not of the problem: they are outside the time of both sides, as
in a cluster where types, pools and daemons stay while pods come and go.
"""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, MutableSet
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from types import ModuleType
from typing import Any, Final

from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Toleration, TolerationOperator
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import PoolOffer, Problem

_DOMAIN: Final = "treenail.domain."
_SMALL: Final = Pod(
    uid="prime",
    name="prime",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    spec=PodSpec(
        requests=Resources({"cpu": 1, "memory": 1 << 20, "pods": 1}),
        tolerations=(Toleration(operator=TolerationOperator.EXISTS),),
    ),
)


class Pods(StrEnum):
    """How pods are given to the packer."""

    BARE = "bare"
    # As the decoder hands them over: those with equal specs share one object. It knows them by their text.
    DECODED = "decoded"


class Pristine:
    """A problem that nothing was derived from yet, to be made anew any number of times."""

    def __init__(self, problem: Problem, pods: Pods) -> None:
        """Take `problem` before it is ever packed."""
        self._types = [offer.instance_types for offer in problem.offers]
        offers = tuple(replace(offer, instance_types=()) for offer in problem.offers)
        self._rest = pickle.dumps(replace(problem, pods=(), offers=offers))
        parts = [(pod,) for pod in problem.pods] if pods is Pods.BARE else [problem.pods]
        self._pods = [pickle.dumps(part) for part in parts]

    def fresh(self) -> Problem:
        """Return the problem, all its objects new but the instance types."""
        problem: Problem = pickle.loads(self._rest)  # noqa: S301 (written above)
        pods = tuple(pod for part in self._pods for pod in pickle.loads(part))  # noqa: S301
        return replace(problem, pods=pods, offers=tuple(self._offers(problem)))

    def _offers(self, problem: Problem) -> Iterator[PoolOffer]:
        for offer, types in zip(problem.offers, self._types, strict=True):
            yield replace(offer, instance_types=types)


def forget(problem: Problem) -> None:
    """Empty all caches of the domain; then have the arrays of catalogue and pools made, and nothing else."""
    for module in _modules():
        for one in _members(module):
            clear = getattr(one, "cache_clear", None)
            if clear is not None:
                clear()
    for offer in problem.offers:
        pack(replace(problem, pods=(_SMALL,), offers=(offer,), existing_nodes=(), volumes={}))
    gc.collect()


def remembered() -> Mapping[str, int]:
    """Return how much is in each container that belongs to a module or a class of the domain.

    What a decision adds to one of them would be there for the next.
    """
    sizes: dict[str, int] = {}
    for module in _modules():
        for name, one in vars(module).items():
            if isinstance(one, type) and one.__module__ == module.__name__:
                sizes |= {f"{module.__name__}.{name}.{n}": s for n, s in _sizes(vars(one))}
        sizes |= {f"{module.__name__}.{n}": s for n, s in _sizes(vars(module))}
    return sizes


def _sizes(names: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, one in names.items():
        if not name.startswith("__") and isinstance(one, (MutableMapping, MutableSequence, MutableSet)):
            yield name, len(one)


def _modules() -> list[ModuleType]:
    return [module for name, module in sorted(sys.modules.items()) if name.startswith(_DOMAIN)]


def _members(module: ModuleType) -> Iterator[Any]:
    for one in vars(module).values():
        yield one
        if isinstance(one, type) and one.__module__ == module.__name__:
            yield from vars(one).values()

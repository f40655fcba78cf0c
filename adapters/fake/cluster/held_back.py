"""Workloads that lack pods which the API server refuses to create, by a quota or a LimitRange, say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from treenail.adapters.api.workloads import ApiObject, Deployment, Job, ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster.maker import PodMaker
from treenail.adapters.fake.cluster.objects import owners_of
from treenail.adapters.fake.cluster.offspring import Offspring
from treenail.adapters.fake.cluster.store import Store
from treenail.domain.model.counted import counted


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A workload of which `missing` pods could not be created since second `since`, and `why` not.

    A Deployment stands for its ReplicaSet. Of what is not replicated, `missing` is 0: unknown.
    """

    workload: str
    missing: int
    since: float
    why: str

    @property
    def told(self) -> str:
        """The number of pods and the reason, for people."""
        lacks = f"lacks {counted(self.missing, 'pod')}: " if self.missing else ""
        return f"{lacks}{self.why}"


class Refusals:
    """Finds the workloads that are held back now."""

    def __init__(self, store: Store, offspring: Offspring, maker: PodMaker) -> None:
        self._store = store
        self._offspring = offspring
        self._maker = maker

    def now(self) -> Iterator[HeldBack]:
        """Yield the workloads that are held back, by kind, namespace and name."""
        refused = sorted(
            self._maker.refused.items(), key=lambda item: (item[0].kind, item[0].namespace, item[0].name)
        )
        for about, (since, why) in refused:
            owner = self._store.by_uid(about.uid)
            if owner is None:
                continue
            wanted = _wanted(owner)
            missing = 0 if wanted is None else wanted - self._offspring.active(about.uid)
            if missing > 0 or wanted is None:
                yield HeldBack(self._called(owner, about.kind), missing, since, why)

    def _called(self, owner: ApiObject, kind: str) -> str:
        above = next((self._store.by_uid(o.uid) for o in owners_of(owner) if o.controller), None)
        if above is not None:
            owner, kind = above, type(above).__name__
        namespace = getattr(owner, "namespace", "default")
        return f"{kind} {namespace}/{getattr(owner, 'name', '')}"


def _wanted(owner: ApiObject) -> int | None:
    match owner:
        case ReplicaSet() | StatefulSet():
            return owner.replicas
        case Job():
            return owner.wanted
        case Deployment():
            return None if owner.replicas else 0
        case _:
            return None

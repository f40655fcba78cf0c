"""Writes of status conditions, merged into those present, for claims, pools, node classes and overlays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from treenail.adapters.api.karpenter.claims import MACHINE_CONDITIONS
from treenail.adapters.api.written.node_classes import written_meaning
from treenail.adapters.api.written.parts import Tree, time
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.resources import (
    AWS_NODE_TEMPLATE,
    CAPACITY_BUFFER,
    EC2_NODE_CLASS,
    KWOK_NODE_CLASS,
    MACHINE,
    NODE_CLAIM,
    NODE_OVERLAY,
    NODE_POOL,
    PROVISIONER,
    Resource,
)
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.nodes import Condition
from treenail.domain.model.runtime import Clock

# The longest that Karpenter's CRDs take.
_LONGEST_MESSAGE: Final = 32_768
# Whose conditions say which generation of the object they are about.
_OBSERVING: Final = (
    NODE_POOL,
    NODE_CLAIM,
    EC2_NODE_CLASS,
    KWOK_NODE_CLASS,
    NODE_OVERLAY,
    CAPACITY_BUFFER,
)
_SHOWING: Final = {
    r.kind: r
    for r in (NODE_POOL, PROVISIONER, EC2_NODE_CLASS, AWS_NODE_TEMPLATE, KWOK_NODE_CLASS, NODE_OVERLAY)
}


def merged_conditions(
    stored: Stored,
    news: Iterable[Condition],
    now: datetime,
    *,
    observed: int = 0,
    gone: Collection[str] = (),
) -> list[Tree]:
    """Return the conditions of an object with those of `news` in their places, the others as they are.

    Those of the types `gone` are left out.

    The time of a condition is that of the last change of its status. `observed` is the generation they are
    about, 0 where that is the one stored.
    """
    names = MACHINE_CONDITIONS if stored.resource == MACHINE else {}
    left_out = {names.get(one, one) for one in gone}
    conditions = [one for one in stored.status.conditions if one.get("type") not in left_out]
    for new in news:
        name = names.get(new.type, new.type)
        place = next((n for n, c in enumerate(conditions) if c.get("type") == name), len(conditions))
        before = conditions[place] if place < len(conditions) else {}
        conditions[place : place + 1] = [_written(name, new, before, stored, now)]
        if observed and stored.resource in _OBSERVING:
            conditions[place]["observedGeneration"] = min(observed, stored.metadata.generation)
    return conditions


def _written(name: str, new: Condition, before: Tree, stored: Stored, now: datetime) -> Tree:
    same = before.get("status") == new.status.value
    since = before.get("lastTransitionTime") if same else None
    written: Tree = {
        "type": name,
        "status": new.status.value,
        # Karpenter's own CRDs ask for a reason, and for a message even where it is empty.
        "reason": new.reason or new.type,
        "message": new.message[:_LONGEST_MESSAGE],
        "lastTransitionTime": since or time(now),
    }
    if stored.resource in _OBSERVING:
        written["observedGeneration"] = stored.metadata.generation
    return written


class ConditionWrites:
    """Sets conditions of pools and node classes."""

    def __init__(self, calls: ApiCalls, *, clock: Clock, retries: ConflictRetries) -> None:
        self._calls = calls
        self._clock = clock
        self._retries = retries

    def set(
        self,
        about: ObjectRef,
        conditions: Sequence[Condition],
        meaning: NodeClassMeaning | None = None,
        class_generation: int = 0,
    ) -> None:
        """Set conditions, and what a node class means: two requests, one where all is there already.

        Of a NodePool, set of which generation of its node class they tell, where that is known.

        Raises:
            InvalidError: objects of this kind show no conditions of ours, or this one is not to be written.
            NotFoundError: it is not there.
        """
        resource = _SHOWING.get(about.kind)
        if resource is None:
            raise InvalidError(f"{about}: nobody reads conditions of ours there")
        fields = {} if meaning is None else written_meaning(resource.kind, meaning)
        if class_generation and resource == NODE_POOL:
            fields = {"nodeClassObservedGeneration": class_generation}
        observed = 0 if meaning is None else meaning.generation
        self._retries.run(lambda: self._set(resource, about.name, conditions, fields, observed))

    def _set(
        self, resource: Resource, name: str, news: Sequence[Condition], fields: Tree, observed: int
    ) -> None:
        stored = Stored.of(resource, self._calls.read(resource.path(name)))
        conditions = merged_conditions(stored, news, self._clock.now(), observed=observed)
        # What is missing says no more than what is empty: older CRDs do not keep every field.
        there = {field: stored.shown.get(field, type(value)()) for field, value in fields.items()}
        if (conditions, fields) == (stored.status.conditions, there):
            return
        # A merge patch replaces the whole list, the only way custom resources know: so it holds for what was
        # read alone. (Server-side apply would merge by type, but only where the CRD says what the key is, and
        # Karpenter's do not.)
        body = {
            "metadata": {"resourceVersion": stored.version},
            "status": {"conditions": conditions, **fields},
        }
        self._calls.merge(resource.path(name, subresource="status"), body)

"""Say why pods could not be placed: each pool's first reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

import numpy as np

from treenail.domain import labels
from treenail.domain.labels import LEFT_OPEN, WELL_KNOWN
from treenail.domain.packing.arrays import Axis, Indices, holds
from treenail.domain.packing.classes import PodClass
from treenail.domain.packing.compatibility.ladder import Rung
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.templates import Template, Templates, requirements_of
from treenail.domain.reasons import Reason, Refusal
from treenail.domain.requirements import Requirement, Requirements
from treenail.domain.resources import format_amount
from treenail.domain.taints import untolerated

_ORDER: Final = tuple(Reason)
_PLACE: Final = (labels.ZONE, labels.CAPACITY_TYPE, labels.ZONE_ID)
# How alike two labels are where one is probably a slip of the pen.
_NEAR: Final = 0.75
# So many types are named in a sentence.
_SHOWN: Final = 3


class Refusals:
    """Explains refusals by what the pools of a problem are and what is left of their limits."""

    def __init__(self, templates: Templates, ledger: Ledger, axis: Axis) -> None:
        self._templates = templates
        self._ledger = ledger
        self._axis = axis

    def of(self, one: PodClass) -> tuple[Refusal, ...]:
        """Return each pool's first reason against a pod of the class, pools in the order they are tried."""
        if not len(self._templates):
            return (Refusal("", Reason.NO_POOLS, "there is no node pool to make a node of"),)
        if not one.ladder.rungs:
            detail = "what it requires of a node's labels contradicts itself"
            return (Refusal("", Reason.INCOMPATIBLE_REQUIREMENT, detail),)
        return tuple(self._of_pool(one, template) for template in range(len(self._templates)))

    def _of_pool(self, one: PodClass, template: int) -> Refusal:
        """Return the reason against the alternative that came furthest."""
        found = [self._against(one, rung, template) for rung in one.ladder.required]
        return max(found, key=lambda refusal: _ORDER.index(refusal.reason))

    def _against(self, one: PodClass, rung: Rung, index: int) -> Refusal:
        offer = self._templates.offer(index)
        pool = offer.pool.name
        taint = untolerated(offer.pool.taints, rung.tolerations)
        if taint is not None:
            return Refusal(pool, Reason.UNTOLERATED_TAINT, f"the taint {taint} is not tolerated")
        known = requirements_of(offer)
        for asked in (rung.requirements, rung.present):
            conflict = known.conflict(asked, may_be_undefined=LEFT_OPEN)
            if conflict is not None:
                return Refusal(pool, Reason.INCOMPATIBLE_REQUIREMENT, _conflict(conflict, known))
        return self._against_types(one, rung, self._templates[index])

    def _against_types(self, one: PodClass, rung: Rung, template: Template) -> Refusal:
        pool = template.offer.pool.name
        together = template.requirements.with_(rung.requirements)
        matching = template.admitted.copy()
        if not matching.any():
            detail = "no instance type meets the pool's own requirements"
            return Refusal(pool, Reason.NO_INSTANCE_TYPE_MATCHES, detail)
        for requirement in (*rung.requirements.in_order(), *rung.present.in_order()):
            for asked in (requirement, together[requirement.key]):
                matching &= template.shelf.masks.admitting(asked)
            if not matching.any():
                return Refusal(pool, Reason.NO_INSTANCE_TYPE_MATCHES, _no_type(requirement, template))
        types = np.flatnonzero(matching)
        able = types[holds(template.room[types], one.requests)]
        if not len(able):
            return Refusal(pool, Reason.TOO_LARGE, self._too_large(one, template, types))
        offers = template.shelf.offers
        sold = np.isfinite(offers.prices[able][:, offers.within(together)]).any(axis=1)
        if not sold.any():
            return Refusal(pool, Reason.NO_CAPACITY, _no_capacity(template, able, together))
        return Refusal(pool, Reason.LIMIT_REACHED, self._limit(template, able[sold]))

    def _too_large(self, one: PodClass, template: Template, types: Indices) -> str:
        room = template.room[types]
        for column, name in enumerate(self._axis.names):
            asked, largest = one.requests[column], int(room[:, column].argmax())
            if asked > room[largest, column]:
                wanted = format_amount(name, one.spec.requests.get(name, 0))
                left = format_amount(name, int(max(room[largest, column], 0)))
                of = template.shelf.types[types[largest]].name
                return f"{name} {wanted} is asked for, and the largest type leaves {left} to pods ({of})"
        return f"none of {len(types)} types holds all that is asked for at once: {_amounts(one)}"

    def _limit(self, template: Template, able: Indices) -> str:
        left = self._ledger.left(template)
        for column, name in enumerate(template.limited):
            least = int(template.capacity[able, column].min())
            if least > left[column]:
                rest = f"{format_amount(name, int(left[column]))} of {name} is left of the limit"
                return f"{rest}, and the smallest type that would do has {format_amount(name, least)}"
        return "no type that would do is within all that is left of the limits"


def _conflict(conflict: Requirement, known: Requirements) -> str:
    own = known.get(conflict.key)
    if own is None:
        near = get_close_matches(conflict.key, sorted({*known, *WELL_KNOWN}), n=1, cutoff=_NEAR)
        return f"{conflict} is asked for, and the pool does not define that label{_hint(near)}"
    near = [
        close for v in sorted(conflict.values) for close in get_close_matches(v, sorted(own.values), 1, _NEAR)
    ]
    return f"{conflict} is asked for, and the pool has {own}{_hint(near)}"


def _no_type(requirement: Requirement, template: Template) -> str:
    values = template.shelf.masks.values(requirement.key)
    near = [close for v in sorted(requirement.values) for close in get_close_matches(v, values, 1, _NEAR)]
    return f"no instance type that is left has {requirement}{_hint(near)}"


def _no_capacity(template: Template, able: Indices, together: Requirements) -> str:
    offers = template.shelf.offers
    names = _names(sorted(template.shelf.types[t].name for t in able))
    if offers.listed[able][:, offers.within(together)].any():
        return f"the capacity of all types that would do has run out: {names}"
    asked = " and ".join(str(together[key]) for key in _PLACE if key in together)
    return f"no type that would do is sold with {asked}: {names}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _amounts(one: PodClass) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in one.spec.requests.format().items())


def _hint(near: Iterable[str]) -> str:
    first = next(iter(near), None)
    return f" (did you mean {first}?)" if first else ""

"""Say why pods could not be placed: each pool's first reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from treenail.domain import labels
from treenail.domain.labels import LEFT_OPEN, WELL_KNOWN
from treenail.domain.packing.arrays import Axis, Bools, Floats, Indices, holds
from treenail.domain.packing.classes import PodClass
from treenail.domain.packing.compatibility.ladder import Rung
from treenail.domain.packing.likeness import hint, likest, likest_of
from treenail.domain.packing.limits import Ledger
from treenail.domain.packing.templates import Template, Templates, requirements_of
from treenail.domain.reasons import Reason, Refusal, Values
from treenail.domain.requirements import Requirement, Requirements
from treenail.domain.resources import format_amount
from treenail.domain.taints import Taint, Toleration, untolerated

_PLACE: Final = (labels.ZONE, labels.CAPACITY_TYPE, labels.ZONE_ID)
# Labels so much of their own that what does not suit them is a reason of its own.
_MISMATCHES: Final = {
    labels.OS: Reason.OPERATING_SYSTEM_MISMATCH,
    labels.ARCH: Reason.ARCHITECTURE_MISMATCH,
    labels.WINDOWS_BUILD: Reason.WINDOWS_BUILD_MISMATCH,
}
# So many types are named in a sentence.
_SHOWN: Final = 3
# So many values of a label are few enough to be told.
_FEW: Final = 12


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
            return (Refusal("", Reason.CONTRADICTORY_REQUIREMENTS, detail),)
        return tuple(self._of_pool(one, template) for template in range(len(self._templates)))

    def _of_pool(self, one: PodClass, template: int) -> Refusal:
        """Return the reason against the alternative that came furthest."""
        found = [self._against(one, rung, template) for rung in one.ladder.required]
        return max(found, key=lambda refusal: refusal.progress)

    def _against(self, one: PodClass, rung: Rung, index: int) -> Refusal:
        offer = self._templates.offer(index)
        pool = offer.pool.name
        taint = untolerated(offer.pool.taints, rung.tolerations)
        if taint is not None:
            return Refusal(pool, Reason.UNTOLERATED_TAINT, *not_tolerated(taint, rung.tolerations))
        known = requirements_of(offer)
        for asked in (rung.requirements, rung.present):
            conflict = known.conflict(asked, may_be_undefined=LEFT_OPEN)
            if conflict is not None:
                return Refusal(pool, *_conflict(conflict, known, self._templates[index]))
        return self._against_types(one, rung, self._templates[index])

    def _against_types(self, one: PodClass, rung: Rung, template: Template) -> Refusal:
        pool = template.offer.pool.name
        together = template.requirements.with_(rung.requirements)
        matching = template.admitted.copy()
        if not matching.any():
            detail = "no instance type meets the pool's own requirements"
            return Refusal(pool, Reason.NO_INSTANCE_TYPE_MATCHES, detail)
        for requirement in (*rung.requirements.in_order(), *rung.present.in_order()):
            before = matching
            for asked in (requirement, together[requirement.key]):
                matching = matching & template.shelf.masks.admitting(asked)
            if not matching.any():
                return Refusal(pool, *_no_type(requirement, template, before))
        types = np.flatnonzero(matching)
        offers = template.shelf.offers
        sold = np.isfinite(offers.prices[types][:, offers.within(together)]).any(axis=1)
        able = holds(template.room[types], one.requests)
        if not able.any():
            # A type that ran out is no measure, unless all have.
            return Refusal(pool, *self._too_large(one, template, types[sold] if sold.any() else types))
        if not (able & sold).any():
            return Refusal(pool, *_no_capacity(template, types[able], together))
        return Refusal(pool, Reason.LIMIT_REACHED, *self._limit(template, types[able & sold]))

    def _too_large(self, one: PodClass, template: Template, types: Indices) -> tuple[Reason, str, Values]:
        room = template.room[types]
        for column, name in enumerate(self._axis.names):
            largest = int(room[:, column].argmax())
            if one.requests[column] <= room[largest, column]:
                continue
            wanted = format_amount(name, one.spec.requests.get(name, 0))
            had = _resources_of(template)
            if name not in had:
                near = likest(name, had)
                detail = f"no instance type has any {name}{hint(near)}"
                return Reason.UNKNOWN_RESOURCE, detail, Values(name, wanted, (), near)
            left = format_amount(name, int(max(room[largest, column], 0)))
            of = template.shelf.types[types[largest]].name
            detail = f"{name} {wanted} is asked for, and the largest type leaves {left} to pods ({of})"
            return Reason.TOO_LARGE, detail, Values(name, wanted, (left,), of)
        return Reason.TOO_LARGE, *self._at_once(one, template, types)

    def _at_once(self, one: PodClass, template: Template, types: Indices) -> tuple[str, Values]:
        """Say which resource falls short by the least on the type that comes nearest to all."""
        asked = one.requests > 0
        shares = template.room[types][:, asked] / one.requests[asked]
        nearest = int(np.minimum(shares, 1.0).sum(axis=1).argmax())
        row = np.where(asked, template.room[types[nearest]], np.inf)
        column = int((row / np.maximum(one.requests, 1.0)).argmin())
        name = self._axis.names[column]
        of = template.shelf.types[types[nearest]].name
        wanted = format_amount(name, one.spec.requests.get(name, 0))
        left = format_amount(name, int(max(row[column], 0)))
        amounts = ", ".join(f"{name} {amount}" for name, amount in one.spec.requests.format().items())
        detail = (
            f"none of {len(types)} types holds all that is asked for at once: {amounts}; "
            f"the one that comes nearest leaves {left} of {name} to pods ({of})"
        )
        return detail, Values(name, wanted, (left,), of)

    def _limit(self, template: Template, able: Indices) -> tuple[str, Values]:
        left = self._ledger.left(template)
        capacity = template.capacity[able]
        if not template.limited:
            return "its limits leave too little", Values()
        # The type that would take the least over what is left, and of that what it exceeds first.
        over = np.maximum(capacity - left, 0.0) / np.maximum(capacity, 1.0)
        smallest = int(over.sum(axis=1).argmin())
        column = int(over[smallest].argmax())
        name = template.limited[column]
        of = template.shelf.types[able[smallest]].name
        rest, least = _amount(name, left, column), _amount(name, capacity[smallest], column)
        detail = (
            f"{rest} of {name} is left of the limit, and the smallest type that would do has {least} ({of})"
        )
        return detail, Values(name, least, (rest,), of)


def _amount(name: str, row: Floats, column: int) -> str:
    return format_amount(name, int(row[column]))


def _resources_of(template: Template) -> list[str]:
    """Return the resources of which any type has some."""
    names, capacities = template.shelf.capacities
    return [name for name, most in zip(names, capacities.max(axis=0, initial=0.0), strict=True) if most]


def not_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> tuple[str, Values]:
    """Return the sentence and the values of a taint that none of `tolerations` covers."""
    own = [f"{t.key}={t.value}" for t in tolerations if t.key and t.value]
    near = likest(f"{taint.key}={taint.value}", own)
    but = f" ({near} is)" if near else ""
    detail = f"the taint {taint} is not tolerated{but}"
    return detail, Values(str(taint), ", ".join(own), (str(taint),), near)


def _conflict(conflict: Requirement, known: Requirements, template: Template) -> tuple[Reason, str, Values]:
    own, asked = known.get(conflict.key), str(conflict)
    if conflict.key == labels.HOSTNAME:
        detail = f"{conflict} is asked for, and a node still to be bought has no name yet"
        return Reason.HOSTNAME_REQUIRED, detail, Values(conflict.key, asked)
    if own is None:
        near = likest(conflict.key, {*known, *WELL_KNOWN})
        detail = f"{conflict} is asked for, and the pool does not define that label{hint(near)}"
        return Reason.UNDEFINED_LABEL, detail, Values(conflict.key, asked, (), near)
    # A value that some type has was meant as it stands.
    unknown = conflict.values.difference(template.shelf.masks.values(conflict.key))
    near = likest_of(unknown, own.values)
    detail = f"{conflict} is asked for, and the pool has {own}{hint(near)}"
    reason = _MISMATCHES.get(conflict.key, Reason.INCOMPATIBLE_REQUIREMENT)
    return reason, detail, Values(conflict.key, asked, tuple(sorted(own.values)) or (str(own),), near)


def _no_type(requirement: Requirement, template: Template, left: Bools) -> tuple[Reason, str, Values]:
    masks = template.shelf.masks
    known = masks.values(requirement.key)
    near = likest_of(requirement.values.difference(known), known)
    detail = f"no instance type that is left has {requirement}{hint(near)}"
    values = Values(requirement.key, str(requirement), _values_left(requirement.key, template, left), near)
    if (template.admitted & masks.admitting(requirement)).any():
        # It is together with others that it leaves none.
        return Reason.NO_INSTANCE_TYPE_MATCHES, detail, values
    return _MISMATCHES.get(requirement.key, Reason.NO_INSTANCE_TYPE_MATCHES), detail, values


def _values_left(key: str, template: Template, left: Bools) -> tuple[str, ...]:
    """Return, sorted, what the types `left` (T) have for the label `key`; nothing of a long list."""
    masks = template.shelf.masks
    known = masks.values(key)
    if len(known) > _FEW:
        return ()
    return tuple(v for v in known if (left & masks.admitting(Requirement(key, frozenset((v,))))).any())


def _no_capacity(template: Template, able: Indices, together: Requirements) -> tuple[Reason, str, Values]:
    offers = template.shelf.offers
    names = sorted(template.shelf.types[t].name for t in able)
    asked = " and ".join(str(together[key]) for key in _PLACE if key in together)
    elsewhere = np.flatnonzero(np.isfinite(offers.prices[able]).any(axis=0))
    sold = sorted({"/".join(offers.places[place][:2]) for place in elsewhere})
    values = Values(_shortened(names), asked, tuple(sold[:_SHOWN]), sold[0] if sold else "")
    if offers.listed[able][:, offers.within(together)].any():
        detail = f"the capacity of all types that would do has run out: {_shortened(names)}"
        return Reason.NO_CAPACITY, detail, values
    return Reason.NOT_SOLD, f"no type that would do is sold with {asked}: {_shortened(names)}", values


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more

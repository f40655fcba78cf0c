"""Refusals: each pool's first reason against a pod class."""

from __future__ import annotations

import numpy as np

from treenail.domain.model.labels import LEFT_OPEN
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.resources import format_amount
from treenail.domain.model.taints import untolerated
from treenail.domain.packing.arrays.arrays import Axis, Bools, Floats, Indices, holds
from treenail.domain.packing.arrays.likeness import hint, likest
from treenail.domain.packing.offers.limits_in_plan import RemainingLimits
from treenail.domain.packing.offers.templates import NodeTemplate, NodeTemplates
from treenail.domain.packing.pods.classes import PodClass
from treenail.domain.packing.pods.relaxation import RelaxationLevel
from treenail.domain.packing.problem import MinValuesPolicy, Problem
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values
from treenail.domain.packing.refusals import refusal_details as details
from treenail.domain.packing.topology.topology_refusals import Blockers


class Refusals:
    """The reasons why pods were refused: from the pools as they are, and what the last attempt left.

    Predicates are tried in the order of `Reason`. The first that fails is the reason, because whatever comes
    later could only be answered for a node that there will not be.
    """

    def __init__(
        self,
        problem: Problem,
        templates: NodeTemplates,
        remaining_limits: RemainingLimits,
        axis: Axis,
        blockers: Blockers,
    ) -> None:
        self._strict = problem.settings.min_values is MinValuesPolicy.STRICT
        self._templates = templates
        self._remaining_limits = remaining_limits
        self._axis = axis
        self._blockers = blockers

    def of(self, one: PodClass) -> tuple[Refusal, ...]:
        """Return each pool's first reason against a pod of the class, pools in the order they are tried."""
        if not len(self._templates):
            return (Refusal("", Reason.NO_POOLS, "there is no node pool to make a node of"),)
        if not one.relaxation.levels:
            return (Refusal("", *details.contradiction(one.kind)),)
        # A pool's last offer, which asks for the least and is not reserved, stands for all its offers.
        last = {self._templates.offer(n).pool.name: n for n in range(len(self._templates))}
        return tuple(self._of_pool(one, template) for template in last.values())

    def _of_pool(self, one: PodClass, template: int) -> Refusal:
        """Return the reason against the alternative that came furthest."""
        # Preferences are no reason: they would have been given up. Of alternatives, the one that came
        # furthest is the one worth changing.
        found = [self._against(one, level, template) for level in one.relaxation.required]
        return max(found, key=lambda refusal: refusal.progress)

    def _against(self, one: PodClass, level: RelaxationLevel, index: int) -> Refusal:
        offer = self._templates.offer(index)
        pool = offer.pool.name
        # The cheap checks first, on the pool alone: arrays are made only for pools that pass them.
        taint = untolerated(offer.pool.taints, level.tolerations)
        if taint is not None:
            return Refusal(pool, Reason.UNTOLERATED_TAINT, *details.not_tolerated(taint, level.tolerations))
        known = self._templates.requirements(index)
        for asked in (level.strict, level.present):
            conflict = known.conflict(asked, may_be_undefined=LEFT_OPEN)
            if conflict is not None:
                return Refusal(pool, *details.conflicting(conflict, known, self._templates[index]))
        unreached = known.conflict(level.requirements, may_be_undefined=LEFT_OPEN)
        if unreached is not None:
            own = known.get(unreached.key)
            return Refusal(pool, *details.out_of_reach(unreached, own, "pool", one.kind.volumes))
        return self._against_types(one, level, self._templates[index])

    def _against_types(self, one: PodClass, level: RelaxationLevel, template: NodeTemplate) -> Refusal:
        """Return the reason against a pod whose demands on taints and labels the pool itself meets."""
        matching = self._matching(one, level, template)
        if isinstance(matching, Refusal):
            return matching
        pool, offers = template.offer.pool.name, template.table.offers
        together = template.requirements.with_(level.requirements)
        # Size is judged before capacity: a pod that no type holds would not be helped by capacity that comes
        # back.
        types = np.flatnonzero(matching)
        sold = np.isfinite(offers.prices[types][:, offers.within(together)]).any(axis=1)
        able = holds(template.room[types], one.requests)
        if not able.any():
            # A type that ran out is no measure, unless all have.
            return Refusal(pool, *self._too_large(one, template, types[sold] if sold.any() else types))
        port = details.taken(level.demand.ports, template, types[able])
        if port is not None:
            return Refusal(pool, Reason.HOST_PORT_TAKEN, *port)
        if not (able & sold).any():
            return Refusal(pool, *details.no_capacity(template, types[able], together))
        # From here on a node for the pod could be bought. What is left are the terms about other pods,
        # minValues and limits.
        blocked = self._blockers.against(one, level, template.index)
        if blocked is not None:
            return Refusal(pool, *blocked)
        few = details.too_few_values(template, types[able & sold]) if self._strict else None
        if few is not None:
            return Refusal(pool, Reason.MIN_VALUES, *few)
        # Nothing else is left that could have kept the pod off.
        return Refusal(pool, Reason.LIMIT_REACHED, *self._limit(template, types[able & sold]))

    def _matching(self, one: PodClass, level: RelaxationLevel, template: NodeTemplate) -> Bools | Refusal:
        """Return which types (T) have the labels that a level requires, or the reason why none has."""
        pool = template.offer.pool.name
        together = template.requirements.with_(level.requirements)
        matching = template.admitted
        if not matching.any():
            detail = "no instance type meets the pool's own requirements"
            return Refusal(pool, Reason.NO_INSTANCE_TYPE_MATCHES, detail)
        # One after the other, to name the requirement that leaves no type, not the whole conjunction. In
        # order, so that it is the same one each time.
        for requirement in (*level.requirements.in_order(), *level.present.in_order()):
            before = matching
            for asked in (requirement, together[requirement.key]):
                matching = matching & template.table.masks.admitting(asked)
            if not matching.any():
                # Not asked for by the pod: it comes from its volumes or claims.
                if requirement.key not in level.strict:
                    own = details.of_types(requirement.key, template)
                    needs = one.kind.volumes
                    return Refusal(pool, *details.out_of_reach(requirement, own, "pool", needs))
                return Refusal(pool, *details.no_type(requirement, template, before))
        return matching

    def _too_large(self, one: PodClass, template: NodeTemplate, types: Indices) -> tuple[Reason, str, Values]:
        room = template.room[types]
        for column, name in enumerate(self._axis.names):
            largest = int(room[:, column].argmax())
            if one.requests[column] <= room[largest, column]:
                continue
            wanted = format_amount(name, one.spec.requests.get(name, 0))
            had = details.resources_of(template)
            # The pod asks for none of it, and yet too little is left: daemons alone take more than the type
            # has.
            if not one.requests[column]:
                return details.too_little_for_daemons(name, had)
            if name not in had:
                near = likest(name, had)
                detail = f"no instance type has any {name}{hint(near)}"
                return Reason.UNKNOWN_RESOURCE, detail, Values(name, wanted, (), near)
            left = format_amount(name, int(max(room[largest, column], 0)))
            of = template.table.types[types[largest]].name
            detail = f"{name} {wanted} is asked for, and the largest type leaves {left} to pods ({of})"
            detail += details.missing(name, one.requests[column], template, types, room[:, column])
            return Reason.TOO_LARGE, detail, Values(name, wanted, (left,), of)
        # Each resource by itself fits some type: it is the combination that none holds.
        return Reason.TOO_LARGE, *self._at_once(one, template, types)

    def _at_once(self, one: PodClass, template: NodeTemplate, types: Indices) -> tuple[str, Values]:
        """Return the sentence and values for the scarcest resource of the type that comes nearest to all."""
        asked = one.requests > 0
        # The nearest type is the one that gives the most of what is asked for, each resource counted up to
        # what is needed: the change that it calls for is the smallest.
        shares = template.room[types][:, asked] / one.requests[asked]
        nearest = int(np.minimum(shares, 1.0).sum(axis=1).argmax())
        row = np.where(asked, template.room[types[nearest]], np.inf)
        column = int((row / np.maximum(one.requests, 1.0)).argmin())
        name = self._axis.names[column]
        of = template.table.types[types[nearest]].name
        wanted = format_amount(name, one.spec.requests.get(name, 0))
        left = format_amount(name, int(max(row[column], 0)))
        amounts = ", ".join(f"{name} {amount}" for name, amount in one.spec.requests.format().items())
        detail = (
            f"none of {len(types)} types holds all that is asked for at once: {amounts}; "
            f"the one that comes nearest leaves {left} of {name} to pods ({of})"
        )
        detail += details.missing(name, one.requests[column], template, types[[nearest]], row[[column]])
        return detail, Values(name, wanted, (left,), of)

    def _limit(self, template: NodeTemplate, able: Indices) -> tuple[str, Values]:
        left = self._remaining_limits.left(template)
        capacity = template.capacity[able]
        if not template.limited:
            return "its limits leave too little", Values()
        # The type that exceeds the limits the least in sum, and the resource in which it exceeds them most.
        over = np.maximum(capacity - left, 0.0) / np.maximum(capacity.max(axis=0), 1.0)
        smallest = int(over.sum(axis=1).argmin())
        column = int(over[smallest].argmax())
        name = template.limited[column]
        of = template.table.types[able[smallest]].name
        rest, least = _amount(name, left, column), _amount(name, capacity[smallest], column)
        if name == NODES:
            return "no more nodes are left of the limit", Values(name, least, (rest,), of)
        detail = f"{rest} of {name} is left of the limit, and "
        if capacity[:, column].min() > left[column]:
            detail += f"the smallest type that would do has {least} ({of})"
        else:
            detail += f"of types within other limits the nearest has {least} ({of})"
        return detail, Values(name, least, (rest,), of)


def _amount(name: str, row: Floats, column: int) -> str:
    return format_amount(name, int(row[column]))

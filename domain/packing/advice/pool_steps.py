"""Changes of a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.pool_limits import NODES
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import MEMORY, Resources, format_amount
from treenail.domain.model.taints import Taint
from treenail.domain.packing.advice.step import Step, named, of_pool, written
from treenail.domain.packing.problem import PoolOffer
from treenail.domain.packing.remedies import ChangeKind, Fragment

# A pool is shared by others' pods, and is often another team's: but for limits, which are there to be raised,
# each change of it is larger than any of the pod.
_RAISE_LIMIT: Final = 2.0
_ADD_VALUE: Final = 4.0
_LOWER_MIN_VALUES: Final = 4.0
_ADD_LABEL: Final = 4.5
_DROP_REQUIREMENT: Final = 5.0
_REMOVE_TAINT: Final = 5.0
_GIBIBYTE: Final = 2**30
# Labels whose values follow from the pool's node class: another class is needed for other values.
_OF_THE_CLASS: Final = frozenset({labels.OS, labels.WINDOWS_BUILD})


def raise_limits(
    offer: PoolOffer, needed: Mapping[str, int], *, size: float = _RAISE_LIMIT
) -> Iterable[Step]:
    """Raise the limits of the pool until `needed` is left of each resource in it, where less is."""
    # Only resources that the pool limits: others stay without a limit.
    left = offer.limits_left or Resources()
    limits = offer.pool.limits or left
    short = {name: needed[name] - left[name] for name in sorted(left) if needed.get(name, 0) > left[name]}
    if not short:
        return
    # From what the limit is now, not from what is in use: the sentence tells the number to write.
    more = {name: _rounded(name, limits.get(name, 0) + amount) for name, amount in short.items()}
    before = {name: format_amount(name, limits.get(name, 0)) for name in more}
    after = {name: format_amount(name, amount) for name, amount in more.items()}
    raised = Resources({name: amount - limits.get(name, 0) for name, amount in more.items()})
    said = " and ".join(f"{after[name]}{_of(name)} instead of {before[name]}" for name in more)
    path = "spec.limits.resources" if _old(offer.pool) else "spec.limits"

    # What is left grows by as much as the limit does: what is in use stays the same.
    def edit(of: PoolOffer) -> PoolOffer:
        pool = replace(of.pool, limits=(of.pool.limits or left).plus(raised))
        return replace(of, pool=pool, limits_left=(of.limits_left or left).plus(raised))

    condition = f"{named(offer.pool)} were allowed {said}"
    yield of_pool(ChangeKind.RAISE_LIMIT, offer.pool, path, (before, after), condition, size, edit)


def _of(name: str) -> str:
    return f" {name}" if name == NODES else f" of {name}"


def _rounded(name: str, amount: int) -> int:
    """Round a limit up to what people write."""
    # cpu is counted in millicores here, and is written so: 10500m is as good as 11. A limit of so many bytes
    # nobody would write.
    unit = _GIBIBYTE if name == MEMORY else 1
    return -(-amount // unit) * unit


def add_value(pool: NodePool, key: str, value: str) -> Iterable[Step]:
    """Let a requirement of the pool allow one more value, where it lists its values."""
    own = pool.requirements.get(key)
    # A requirement NotIn or Exists has no list to add to. Without any requirement nothing keeps the value
    # out.
    if own is None or own.complement or own.has(value) or key in _OF_THE_CLASS:
        return
    wider = replace(own, values=own.values | {value})
    yield of_pool(
        ChangeKind.WIDEN_POOL_REQUIREMENT,
        pool,
        _path(pool, "requirements[]"),
        (_fragment(own), _fragment(wider)),
        f"{named(pool)} allowed {key}={value}",
        _ADD_VALUE,
        _with_requirement(wider),
    )


def drop_requirement(pool: NodePool, key: str) -> Iterable[Step]:
    """Let the pool do without a requirement. In the old API, what is not written has its defaults."""
    own = pool.requirements.get(key)
    # One that is written in several entries (Gt and Lt, say) is not dropped: which entry is at fault is not
    # known.
    if own is None or key in _OF_THE_CLASS or len(own.written()) > 1 or _old(pool):
        return
    yield of_pool(
        ChangeKind.DROP_POOL_REQUIREMENT,
        pool,
        _path(pool, "requirements[]"),
        (_fragment(own), None),
        f"{named(pool)} did not require {str(own).replace(chr(39), '')}",
        _DROP_REQUIREMENT,
        lambda of: replace(of, pool=replace(of.pool, requirements=of.pool.requirements.without((key,)))),
    )


def lower_min_values(pool: NodePool, key: str, to: int) -> Iterable[Step]:
    """Let the pool be content with less choice of a label's values."""
    own = pool.requirements.get(key)
    # minValues of 0 is no value the API takes: to want no choice at all is to drop the field.
    if own is None or own.min_values is None or not 0 < to < own.min_values:
        return
    yield of_pool(
        ChangeKind.LOWER_MIN_VALUES,
        pool,
        _path(pool, "requirements[]"),
        ({"key": key, "minValues": own.min_values}, {"key": key, "minValues": to}),
        f"the minValues of {named(pool)} for {key} were {to} instead of {own.min_values}",
        _LOWER_MIN_VALUES,
        _with_requirement(replace(own, min_values=to)),
    )


def add_label(pool: NodePool, key: str, value: str) -> Step:
    """Give the pool's nodes a label."""
    return of_pool(
        ChangeKind.ADD_POOL_LABEL,
        pool,
        # In the old API the spec is the template; in the new one labels of the nodes are the template's
        # metadata.
        "spec.labels" if _old(pool) else "spec.template.metadata.labels",
        (None, {key: value}),
        f"the nodes of {named(pool)} had the label {key}={value}",
        _ADD_LABEL,
        lambda of: replace(of, pool=replace(of.pool, labels={**of.pool.labels, key: value})),
    )


def remove_taint(pool: NodePool, taint: Taint) -> Step:
    """Take a taint off the pool's nodes."""
    before: Fragment = {"key": taint.key, "effect": taint.effect.value}
    if taint.value:
        before = {**before, "value": taint.value}
    return of_pool(
        ChangeKind.REMOVE_POOL_TAINT,
        pool,
        _path(pool, "taints[]"),
        (before, None),
        f"{named(pool)} did not have the taint {taint}",
        _REMOVE_TAINT,
        lambda of: replace(of, pool=replace(of.pool, taints=tuple(t for t in of.pool.taints if t != taint))),
    )


def _old(pool: NodePool) -> bool:
    return pool.generation is Generation.V1ALPHA5


def _path(pool: NodePool, field: str) -> str:
    return f"spec.{field}" if _old(pool) else f"spec.template.spec.{field}"


def _fragment(requirement: Requirement) -> Fragment:
    return written(requirement.key, *requirement.written()[0])


def _with_requirement(new: Requirement) -> Callable[[PoolOffer], PoolOffer]:
    def edit(of: PoolOffer) -> PoolOffer:
        kept = of.pool.requirements.without((new.key,))
        return replace(of, pool=replace(of.pool, requirements=Requirements((*kept.values(), new))))

    return edit

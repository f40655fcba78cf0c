"""A change of a manifest, and what it makes of a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.packing.problem import PoolOffer, Problem
from treenail.domain.packing.remedies import ChangeKind, Fragment, ManifestChange

POD = "Pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A change that may help, its size, and the problem with the change applied.

    Sizes compare changes: 1 corrects a typing error, 2 to 3 change what a pod asks for by one entry, 4 and
    more change what a pool is for all pods.
    """

    change: ManifestChange
    size: float
    apply: Callable[[Problem], Problem]

    @property
    def key(self) -> str:
        """The key that tells this step from others."""
        # Two refusals may propose the same change: by this key it is tried once. Functions cannot be
        # compared.
        return f"{self.change.object} {self.change.path} {self.change.condition}"


def of_pod(
    kind: ChangeKind,
    path: str,
    change: tuple[Fragment | None, Fragment | None],
    condition: str,
    size: float,
    edit: Callable[[PodSpec], PodSpec],
) -> Step:
    """Return the step that does `edit` with the spec of all pods: they are alike, and stay so."""
    # The fragments are for people and for diffs; `edit` is what is tried. Each step must keep the two in
    # line.
    before, after = change
    made = ManifestChange(kind=kind, object=POD, path=path, before=before, after=after, condition=condition)

    def apply(problem: Problem) -> Problem:
        # Edited once, and shared: pods with one spec object are one class to packing without a look at the
        # spec.
        edited = edit(problem.pods[0].spec)
        return replace(problem, pods=tuple(replace(pod, spec=edited) for pod in problem.pods))

    return Step(change=made, size=size, apply=apply)


def of_pool(
    kind: ChangeKind,
    pool: NodePool,
    path: str,
    change: tuple[Fragment | None, Fragment | None],
    condition: str,
    size: float,
    edit: Callable[[PoolOffer], PoolOffer],
) -> Step:
    """Return the step that does `edit` with the offer of `pool`."""
    before, after = change
    name = pool.name
    made = ManifestChange(
        kind=kind,
        object=named(pool),
        path=path,
        before=before,
        after=after,
        condition=condition,
    )

    def apply(problem: Problem) -> Problem:
        # All offers of the pool, reserved capacity too: a manifest is changed once for all of them.
        offers = tuple(edit(o) if o.pool.name == name else o for o in problem.offers)
        return replace(problem, offers=offers)

    return Step(change=made, size=size, apply=apply)


def named(pool: NodePool) -> str:
    """Return a pool as a sentence, or a command, names it."""
    return f"{pool.generation.pool_kind} {pool.name}"


def written(key: str, operator: Operator, values: Sequence[str]) -> Fragment:
    """Return an expression, or a requirement, as a manifest writes it."""
    entry: dict[str, object] = {"key": key, "operator": operator.value}
    # Exists and DoesNotExist take no values: the API server refuses a list of them, even an empty one.
    return {**entry, "values": list(values)} if values else entry

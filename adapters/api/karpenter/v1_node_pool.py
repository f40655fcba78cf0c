"""karpenter.sh/v1 NodePool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.amounts import (
    Duration,
    DurationOrNever,
    duration,
    duration_or_never,
)
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.cron import cron_problem
from treenail.adapters.api.karpenter.pools import TEMPLATE, Weight, limits_of, template_of
from treenail.adapters.api.karpenter.references import NodeClassRefModel
from treenail.adapters.api.karpenter.requirements import RequirementModel
from treenail.adapters.api.metadata import StrictObject, StrictTemplateMetadata
from treenail.adapters.api.model import WANTED, NotNegative, PlainQuantities, StrictModel
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import StrictTaintModel, dated
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, Disruption, Generation

EXPIRE_AFTER: Final = "720h"
NODES: Final = "10%"
_POLICY: Final = ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED

Nodes: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^((100|[0-9]{1,2})%|[0-9]{1,9})$",
        extra={WANTED: 'a number of nodes or a percentage ("10%")'},
    ),
]
BudgetDuration: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$",
        extra={WANTED: "a duration of hours and minutes (such as 8h or 1h30m)"},
    ),
]


class BudgetModel(StrictModel):
    """A limit on how many nodes may be disrupted at a time."""

    nodes: Nodes = NODES
    reasons: Annotated[tuple[Literal["Underutilized", "Empty", "Drifted"], ...], Meta(max_length=50)] = ()
    schedule: str | None = None
    duration: BudgetDuration | None = None

    def value(self, at: str) -> Budget:
        """Return the budget; FieldError says what is wrong with it under the path `at`."""
        if (self.schedule is None) != (self.duration is None):
            raise FieldError(at, "needs schedule and duration, or neither")
        problem = cron_problem(self.schedule) if self.schedule is not None else None
        if problem is not None:
            raise FieldError(f"{at}.schedule", problem)
        percent = self.nodes.endswith("%")
        number = int(self.nodes.rstrip("%"))
        return Budget(
            nodes=None if percent else number,
            percent=number if percent else None,
            reasons=tuple(sorted(set(self.reasons))),
            schedule=self.schedule or "",
            duration=duration(self.duration, f"{at}.duration") if self.duration else None,
        )


class DisruptionModel(StrictModel):
    """The rules by which nodes are given back."""

    consolidate_after: DurationOrNever = "0s"
    consolidation_policy: Literal["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"] | None = None
    budgets: Annotated[tuple[BudgetModel, ...], Meta(max_length=50)] | None = None


class NodeTemplateSpecModel(StrictModel, kw_only=True):
    """The spec that claims of the pool are made from."""

    requirements: Annotated[tuple[RequirementModel, ...], Meta(max_length=100)]
    node_class_ref: NodeClassRefModel
    taints: tuple[StrictTaintModel, ...] = ()
    startup_taints: tuple[StrictTaintModel, ...] = ()
    termination_grace_period: Duration | None = None
    expire_after: DurationOrNever | None = None


class NodeTemplateModel(StrictModel, kw_only=True):
    """The template that nodes of the pool are made from."""

    metadata: StrictTemplateMetadata = field(default_factory=StrictTemplateMetadata)
    spec: NodeTemplateSpecModel


class NodePoolSpecModel(StrictModel, kw_only=True):
    """The spec of a NodePool."""

    template: NodeTemplateModel
    disruption: DisruptionModel = field(default_factory=DisruptionModel)
    limits: PlainQuantities | None = None
    weight: Weight | None = None
    replicas: NotNegative | None = None


class NodePoolModel(StrictObject, kw_only=True):
    """karpenter.sh/v1 NodePool. Its status is ours to write and not to read."""

    spec: NodePoolSpecModel
    status: dict[str, Any] = field(default_factory=dict)


def node_pool(model: NodePoolModel, _reading: Reading) -> Translation:
    """Return the pool; FieldError says what is wrong with it."""
    spec, template = model.spec, model.spec.template.spec
    taints = template.taints, template.startup_taints
    read = template_of(model.metadata, spec.template.metadata, taints, template.requirements, Generation.V1)
    _check_static(spec)
    pool = read.pool(
        weight=spec.weight,
        node_class=template.node_class_ref.value(f"{TEMPLATE}.nodeClassRef"),
        limits=limits_of(spec.limits, "spec.limits"),
        disruption=_disruption(spec),
        not_acted_on=_not_acted_on(spec),
    )
    pool = replace(pool, termination_grace_period=_grace_period(template), replicas=spec.replicas)
    if pool.static and pool.min_nodes:
        raise FieldError(f"metadata.annotations[{labels.MIN_NODES}]", "cannot stand beside spec.replicas")
    return Translation(objects=(pool,), not_acted_on=pool.not_acted_on)


def _disruption(spec: NodePoolSpecModel) -> Disruption:
    own = spec.disruption
    budgets = (BudgetModel(),) if own.budgets is None else own.budgets
    expire_after = spec.template.spec.expire_after or EXPIRE_AFTER
    return Disruption(
        policy=ConsolidationPolicy(own.consolidation_policy or _POLICY),
        consolidate_after=duration_or_never(own.consolidate_after, "spec.disruption.consolidateAfter"),
        expire_after=duration_or_never(expire_after, "spec.template.spec.expireAfter"),
        budgets=tuple(b.value(f"spec.disruption.budgets[{n}]") for n, b in enumerate(budgets)),
    )


def _grace_period(template: NodeTemplateSpecModel) -> timedelta | None:
    period = template.termination_grace_period
    return duration(period, "spec.template.spec.terminationGracePeriod") if period else None


def _check_static(spec: NodePoolSpecModel) -> None:
    if spec.replicas is None:
        return
    if spec.weight is not None:
        raise FieldError("spec.weight", "cannot stand beside spec.replicas")
    if spec.limits and set(spec.limits) != {"nodes"}:
        raise FieldError("spec.limits", "may only name nodes beside spec.replicas")


def _not_acted_on(spec: NodePoolSpecModel) -> Iterator[str]:
    if spec.replicas is not None:
        yield "spec.replicas"
    yield from dated(spec.template.spec.taints, spec.template.spec.startup_taints, TEMPLATE)

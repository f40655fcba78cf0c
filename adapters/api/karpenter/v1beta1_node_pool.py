"""karpenter.sh/v1beta1 NodePool. It is converted to v1, and means the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, field

from treenail.adapters.api.amounts import (
    NEVER,
    DurationOrNever,
    duration_or_never,
)
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.pools import TEMPLATE, Weight, limits_of, template_of
from treenail.adapters.api.karpenter.references import NodeClassByVersionModel
from treenail.adapters.api.karpenter.requirements import BetaRequirementModel
from treenail.adapters.api.karpenter.v1_node_pool import (
    EXPIRE_AFTER,
    NODES,
    BudgetDuration,
    BudgetModel,
    Nodes,
)
from treenail.adapters.api.kubelet import KubeletModel
from treenail.adapters.api.metadata import StrictObject, StrictTemplateMetadata
from treenail.adapters.api.model import PlainQuantities, StrictModel
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import StrictTaintModel, dated
from treenail.domain.model.node_pools import Budget, ConsolidationPolicy, Disruption, Generation

_WHEN_EMPTY: Final = "WhenEmpty"


class BetaBudgetModel(StrictModel):
    """A limit on how many nodes may be disrupted at a time, for whichever reason."""

    nodes: Nodes = NODES
    schedule: str | None = None
    duration: BudgetDuration | None = None

    def value(self, at: str) -> Budget:
        """Return the budget; FieldError says what is wrong with it under the path `at`."""
        return BudgetModel(nodes=self.nodes, schedule=self.schedule, duration=self.duration).value(at)


class BetaDisruptionModel(StrictModel):
    """The rules by which nodes are given back."""

    consolidation_policy: Literal["WhenEmpty", "WhenUnderutilized"] | None = None
    consolidate_after: DurationOrNever | None = None
    expire_after: DurationOrNever | None = None
    budgets: Annotated[tuple[BetaBudgetModel, ...], Meta(max_length=50)] | None = None

    def check(self, at: str) -> None:
        """Raise FieldError unless the policy and its delay go together."""
        path = f"{at}.consolidateAfter"
        if self.consolidation_policy == _WHEN_EMPTY:
            if self.consolidate_after is None:
                raise FieldError(path, "is missing: consolidationPolicy WhenEmpty needs it")
        elif self.consolidate_after not in (None, NEVER):
            raise FieldError(path, "may only be Never beside consolidationPolicy WhenUnderutilized")


class NoResourcesModel(StrictModel):
    """Nothing: only a claim has resources, though Karpenter writes the field in pools too."""


class BetaNodeTemplateSpecModel(StrictModel, kw_only=True):
    """The spec that claims of the pool are made from."""

    requirements: Annotated[tuple[BetaRequirementModel, ...], Meta(max_length=100)]
    node_class_ref: NodeClassByVersionModel
    taints: tuple[StrictTaintModel, ...] = ()
    startup_taints: tuple[StrictTaintModel, ...] = ()
    kubelet: KubeletModel | None = None
    resources: NoResourcesModel | None = None


class BetaNodeTemplateModel(StrictModel, kw_only=True):
    """The template that nodes of the pool are made from."""

    metadata: StrictTemplateMetadata = field(default_factory=StrictTemplateMetadata)
    spec: BetaNodeTemplateSpecModel


class BetaNodePoolSpecModel(StrictModel, kw_only=True):
    """The spec of a NodePool of v1beta1."""

    template: BetaNodeTemplateModel
    disruption: BetaDisruptionModel = field(default_factory=BetaDisruptionModel)
    limits: PlainQuantities | None = None
    weight: Weight | None = None


class BetaNodePoolModel(StrictObject, kw_only=True):
    """karpenter.sh/v1beta1 NodePool. Its status is ours to write and not to read."""

    spec: BetaNodePoolSpecModel
    status: dict[str, Any] = field(default_factory=dict)


def beta_node_pool(model: BetaNodePoolModel, _reading: Reading) -> Translation:
    """Return the pool; FieldError says what is wrong with it."""
    spec, template = model.spec, model.spec.template.spec
    taints = template.taints, template.startup_taints
    read = template_of(
        model.metadata, spec.template.metadata, taints, template.requirements, Generation.V1BETA1
    )
    pool = read.pool(
        weight=spec.weight,
        node_class=template.node_class_ref.value(f"{TEMPLATE}.nodeClassRef"),
        kubelet=template.kubelet.value(f"{TEMPLATE}.kubelet") if template.kubelet else None,
        limits=limits_of(spec.limits, "spec.limits"),
        disruption=_disruption(spec.disruption),
        not_acted_on=_not_acted_on(spec),
    )
    return Translation(objects=(pool,), not_acted_on=pool.not_acted_on)


def _disruption(own: BetaDisruptionModel) -> Disruption:
    own.check("spec.disruption")
    budgets = (BetaBudgetModel(),) if own.budgets is None else own.budgets
    underutilized = own.consolidation_policy != _WHEN_EMPTY
    return Disruption(
        policy=ConsolidationPolicy.WHEN_EMPTY_OR_UNDERUTILIZED
        if underutilized
        else ConsolidationPolicy.WHEN_EMPTY,
        # Without one, WhenUnderutilized means at once.
        consolidate_after=duration_or_never(
            own.consolidate_after or "0s", "spec.disruption.consolidateAfter"
        ),
        expire_after=duration_or_never(own.expire_after or EXPIRE_AFTER, "spec.disruption.expireAfter"),
        budgets=tuple(b.value(f"spec.disruption.budgets[{n}]") for n, b in enumerate(budgets)),
    )


def _not_acted_on(spec: BetaNodePoolSpecModel) -> Iterator[str]:
    yield from dated(spec.template.spec.taints, spec.template.spec.startup_taints, TEMPLATE)

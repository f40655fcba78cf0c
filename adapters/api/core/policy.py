"""Disruption budgets and priority classes."""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import field

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.selectors import LabelSelectorModel
from treenail.adapters.api.workloads import PriorityClass
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion

_PERCENT: Final = re.compile(r"0*(\d{1,3})%")
_ALL: Final = 100
_HIGHEST_OF_USERS: Final = 1_000_000_000


class PodDisruptionBudgetSpecModel(Model):
    """The spec of a disruption budget."""

    selector: LabelSelectorModel | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: Literal["IfHealthyBudget", "AlwaysAllow"] = "IfHealthyBudget"


class PodDisruptionBudgetStatusModel(Model):
    """The status that the disruption controller writes for a budget."""

    disruptions_allowed: int | None = None


class PodDisruptionBudgetModel(CoreObject):
    """policy/v1 PodDisruptionBudget."""

    spec: PodDisruptionBudgetSpecModel = field(default_factory=PodDisruptionBudgetSpecModel)
    status: PodDisruptionBudgetStatusModel = field(default_factory=PodDisruptionBudgetStatusModel)


def disruption_budget(model: PodDisruptionBudgetModel, _reading: Reading) -> Translation:
    """Return the budget; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    if spec.min_available is not None and spec.max_unavailable is not None:
        raise FieldError("spec.maxUnavailable", "cannot stand beside spec.minAvailable")
    found = PodDisruptionBudget(
        **meta.identity,
        namespace=meta.namespace or "default",
        selector=spec.selector.value("spec.selector") if spec.selector else None,
        min_available=_portion(spec.min_available, "spec.minAvailable"),
        max_unavailable=_portion(spec.max_unavailable, "spec.maxUnavailable"),
        always_allow_unhealthy=spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
        disruptions_allowed=model.status.disruptions_allowed,
    )
    return Translation(objects=(found,))


def _portion(written: int | str | None, at: str) -> Portion | None:
    if written is None:
        return None
    if isinstance(written, int):
        if written < 0:
            raise FieldError(at, f"{written} must not be negative")
        return Portion(written)
    percent = _PERCENT.fullmatch(written)
    if percent is None or int(percent[1]) > _ALL:
        raise FieldError(at, f"{quoted(written)} is neither a number nor a percentage up to 100%")
    return Portion(int(percent[1]), percent=True)


class PriorityClassModel(CoreObject, kw_only=True):
    """scheduling.k8s.io/v1 PriorityClass."""

    value: int
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"


def priority_class(model: PriorityClassModel, _reading: Reading) -> Translation:
    """Return the class; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate()
    if model.value > _HIGHEST_OF_USERS and not meta.name.startswith("system-"):
        raise FieldError("value", f"{model.value} is more than {_HIGHEST_OF_USERS}, the highest allowed")
    found = PriorityClass(
        **meta.identity,
        value=model.value,
        global_default=model.global_default,
        preempts=model.preemption_policy == "PreemptLowerPriority",
    )
    return Translation(objects=(found,))

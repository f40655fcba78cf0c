"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import field

from treenail.adapters.api.amounts import MOST_IN_ALL, amount, resources
from treenail.adapters.api.diagnosis import under
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model, Quantities
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.limit_ranges import LimitRange, LimitRangeItem, ratio_of
from treenail.domain.model.resource_quotas import (
    ResourceQuota,
    Scope,
    ScopeOperator,
    ScopeTerm,
    resource_of,
    simulated,
)
from treenail.domain.model.resources import Resources

# Objects of these kinds are counted where a quota limits them.
COUNTED: Final[Mapping[str, str]] = {
    "count/deployments.apps": "Deployment",
    "count/replicasets.apps": "ReplicaSet",
    "count/statefulsets.apps": "StatefulSet",
    "count/jobs.batch": "Job",
    "count/cronjobs.batch": "CronJob",
    "count/persistentvolumeclaims": "PersistentVolumeClaim",
    "persistentvolumeclaims": "PersistentVolumeClaim",
}


class ScopeTermModel(Model, kw_only=True):
    """A term of a scope selector."""

    scope_name: Scope
    operator: ScopeOperator
    values: tuple[str, ...] = ()


class ScopeSelectorModel(Model):
    """The terms of a scope selector, all of which must match."""

    match_expressions: tuple[ScopeTermModel, ...] = ()


class ResourceQuotaSpecModel(Model):
    """The spec of a ResourceQuota."""

    hard: Quantities = field(default_factory=dict)
    scopes: tuple[Scope, ...] = ()
    scope_selector: ScopeSelectorModel = field(default_factory=ScopeSelectorModel)


class ResourceQuotaStatusModel(Model):
    """The status of a ResourceQuota: what is used of it, once its controller has counted that."""

    used: Quantities = field(default_factory=dict)


class ResourceQuotaModel(CoreObject):
    """v1 ResourceQuota."""

    spec: ResourceQuotaSpecModel = field(default_factory=ResourceQuotaSpecModel)
    status: ResourceQuotaStatusModel = field(default_factory=ResourceQuotaStatusModel)


class LimitRangeItemModel(Model, kw_only=True):
    """Bounds and defaults for containers, pods or claims on storage."""

    type: Literal["Container", "Pod", "PersistentVolumeClaim"]
    max: Quantities = field(default_factory=dict)
    min: Quantities = field(default_factory=dict)
    default: Quantities = field(default_factory=dict)
    default_request: Quantities = field(default_factory=dict)
    max_limit_request_ratio: Quantities = field(default_factory=dict)


class LimitRangeSpecModel(Model):
    """The spec of a LimitRange."""

    limits: tuple[LimitRangeItemModel, ...] = ()


class LimitRangeModel(CoreObject):
    """v1 LimitRange."""

    spec: LimitRangeSpecModel = field(default_factory=LimitRangeSpecModel)


def resource_quota(model: ResourceQuotaModel, _reading: Reading) -> Translation:
    """Return the quota, less entries that are not acted on; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    at = "spec.hard"
    hard, used = _amounts(spec.hard, at), _amounts(model.status.used, "status.used")
    without = [under(at, name) for name in hard if not simulated(name, COUNTED)]
    found = ResourceQuota(
        **meta.identity,
        namespace=meta.namespace or "default",
        hard=Resources((name, most) for name, most in hard.items() if simulated(name, COUNTED)),
        scopes=(*(ScopeTerm(scope) for scope in spec.scopes), *_terms(spec.scope_selector)),
        used=Resources(
            (name, most) for name, most in used.items() if name in hard and simulated(name, COUNTED)
        ),
    )
    return Translation(objects=(found,), not_acted_on=tuple(without))


def _amounts(quantities: Quantities, at: str) -> Mapping[str, int]:
    return {n: amount(resource_of(n), q, under(at, n), most=MOST_IN_ALL) for n, q in quantities.items()}


def _terms(selector: ScopeSelectorModel) -> Iterator[ScopeTerm]:
    for n, term in enumerate(selector.match_expressions):
        at = f"spec.scopeSelector.matchExpressions[{n}]"
        compares = term.operator in (ScopeOperator.IN, ScopeOperator.NOT_IN)
        if compares != bool(term.values):
            wanted = "given" if compares else "empty"
            raise FieldError(f"{at}.values", f"must be {wanted} for the operator {term.operator}")
        if term.scope_name is not Scope.PRIORITY_CLASS and term.operator is not ScopeOperator.EXISTS:
            raise FieldError(f"{at}.operator", f"must be Exists for the scope {term.scope_name}")
        yield ScopeTerm(term.scope_name, term.operator, term.values)


def limit_range(model: LimitRangeModel, _reading: Reading) -> Translation:
    """Return the LimitRange; FieldError says what is wrong with it. Bounds of storage are left out."""
    meta = model.metadata
    meta.validate()
    items = [(n, item) for n, item in enumerate(model.spec.limits) if item.type != "PersistentVolumeClaim"]
    found = LimitRange(
        **meta.identity,
        namespace=meta.namespace or "default",
        items=tuple(_item(item, f"spec.limits[{n}]") for n, item in items),
    )
    acted_on = {n for n, _ in items}
    without = tuple(f"spec.limits[{n}]" for n in range(len(model.spec.limits)) if n not in acted_on)
    return Translation(objects=(found,), not_acted_on=without)


def _item(model: LimitRangeItemModel, at: str) -> LimitRangeItem:
    if model.type == "Pod" and (model.default or model.default_request):
        raise FieldError(f"{at}.default", "may not be given for the type Pod")
    least, most = resources(model.min, f"{at}.min"), resources(model.max, f"{at}.max")
    limits = resources(model.default, f"{at}.default")
    requests = resources(model.default_request, f"{at}.defaultRequest")
    if model.type == "Container":
        # As the API server completes them.
        limits = Resources({**most, **limits})
        requests = Resources({**least, **limits, **requests})
    _check_order((("min", least), ("defaultRequest", requests), ("default", limits), ("max", most)), at)
    ratios = resources(model.max_limit_request_ratio, f"{at}.maxLimitRequestRatio")
    return LimitRangeItem(
        kind="Pod" if model.type == "Pod" else "Container",
        least=least,
        most=most,
        limits=limits,
        requests=requests,
        ratio={name: ratio_of(name, written) for name, written in ratios.items()},
    )


def _check_order(amounts: Sequence[tuple[str, Resources]], at: str) -> None:
    """Raise FieldError where a smaller bound is above a larger one, as the API server does."""
    for n, (low_name, low) in enumerate(amounts):
        for high_name, high in amounts[n + 1 :]:
            for name in low:
                if low[name] > high.get(name, low[name]):
                    raise FieldError(under(f"{at}.{low_name}", name), f"is more than {high_name}")

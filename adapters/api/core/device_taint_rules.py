"""DeviceTaintRules: which devices people have tainted, beside what their drivers say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from treenail.adapters.api.core.devices import read_part
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model, NotEmpty, prepare
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.devices import NO_EFFECT, DeviceTaintRule

M = TypeVar("M", bound=Model)


class DeviceTaintModel(Model, kw_only=True):
    """The taint. Its key and its value matter to tolerations alone, and when it was added to nobody here."""

    key: str = ""
    value: str = ""
    effect: NotEmpty
    time_added: Any = None


class DeviceTaintSelectorModel(Model):
    """The devices a rule is about, by driver, pool and name. An empty field selects all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpecModel(Model, kw_only=True):
    """The spec of a rule. Without a selector it is about no device."""

    device_selector: dict[str, Any] | None = None
    taint: dict[str, Any]


class DeviceTaintRuleModel(CoreObject, kw_only=True):
    """resource.k8s.io DeviceTaintRule, in any version."""

    spec: dict[str, Any]


# What is read as a part of others.
for _model in (DeviceTaintModel, DeviceTaintSelectorModel, DeviceTaintRuleSpecModel):
    prepare(_model)


def _understood(of: type[M], tree: Mapping[str, Any], at: str) -> M:
    """Return a part of a rule. A field that is not known may say that it taints more, so it is an error."""
    model, unknown = read_part(of, tree, at)
    if unknown:
        raise FieldError(f"{at}.{unknown}", "is not understood")
    return model


def _device_taint_rule(version: str, model: DeviceTaintRuleModel, _reading: Reading) -> Translation:
    model.metadata.validate()
    spec = _understood(DeviceTaintRuleSpecModel, model.spec, "spec")
    taint = _understood(DeviceTaintModel, spec.taint, "spec.taint")
    tree = spec.device_selector
    selector = _understood(DeviceTaintSelectorModel, tree or {}, "spec.deviceSelector")
    found = DeviceTaintRule(
        **model.metadata.identity,
        version=version,
        driver=selector.driver,
        pool=selector.pool,
        device=selector.device,
        applies=tree is not None and taint.effect != NO_EFFECT,
    )
    return Translation(objects=(found,))


def device_taint_rule(version: str) -> Callable[[DeviceTaintRuleModel, Reading], Translation]:
    """Return what reads the rules of a version; FieldError says what is wrong with one."""
    return partial(_device_taint_rule, version)

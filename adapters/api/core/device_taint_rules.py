"""DeviceTaintRules: which devices people have tainted, beside what their drivers say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from treenail.adapters.api.core.devices import read_part
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model, NotEmpty, prepare
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.devices import NO_EFFECT, DeviceTaintRule


class DeviceTaintModel(Model, kw_only=True):
    """The taint. Its key and its value matter to tolerations alone."""

    effect: NotEmpty


class DeviceTaintSelectorModel(Model):
    """What a device must be called for the rule to be about it. One that is empty selects all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpecModel(Model, kw_only=True):
    """The spec of a rule. Without a selector it is about no device."""

    device_selector: dict[str, Any] | None = None
    taint: DeviceTaintModel


class DeviceTaintRuleModel(CoreObject, kw_only=True):
    """resource.k8s.io DeviceTaintRule, in any version."""

    spec: DeviceTaintRuleSpecModel


prepare(DeviceTaintSelectorModel)


def _device_taint_rule(version: str, model: DeviceTaintRuleModel, _reading: Reading) -> Translation:
    model.metadata.validate()
    at = "spec.deviceSelector"
    tree = model.spec.device_selector
    selector, unknown = read_part(DeviceTaintSelectorModel, tree or {}, at)
    if unknown:
        raise FieldError(f"{at}.{unknown}", "is not understood")
    found = DeviceTaintRule(
        **model.metadata.identity,
        version=version,
        driver=selector.driver,
        pool=selector.pool,
        device=selector.device,
        applies=tree is not None and model.spec.taint.effect != NO_EFFECT,
    )
    return Translation(objects=(found,))


def device_taint_rule(version: str) -> Callable[[DeviceTaintRuleModel, Reading], Translation]:
    """Return what reads the rules of a version; FieldError says what is wrong with one."""
    return partial(_device_taint_rule, version)

"""Device objects as a snapshot has them: models keep parts of them as they are written, to miss no field.

A driver's configuration is not written. A field that is not known is written by its name, with {} in place of
its value, so that whoever reads the snapshot does not understand the object either.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treenail.adapters.api.core.device_taint_rules import (
    DeviceTaintModel,
    DeviceTaintRuleModel,
    DeviceTaintRuleSpecModel,
    DeviceTaintSelectorModel,
)
from treenail.adapters.api.core.devices import (
    DeviceClassModel,
    DeviceClassSpecModel,
    DeviceModel,
    DeviceRequestModel,
    DeviceWishesModel,
    ExactRequestModel,
    ResourceClaimSpecModel,
    ResourceClaimTemplateModel,
    ResourceSliceModel,
    ResourceSliceSpecModel,
    TemplateSpecModel,
    read_part,
)
from treenail.adapters.api.core.resource_claims import ResourceClaimModel
from treenail.adapters.api.model import Model, prepare


class _NamesModel(Model):
    """A part of which is read only that something is there: each field it has is written by its name."""


class _EffectModel(Model):
    """A taint that a driver put on a device."""

    effect: str = ""


# Fields that are not read as they are: the model of the parts in them, or None where nothing is read of them.
_PARTS: Final[Mapping[type[Model], Mapping[str, type[Model] | None]]] = {
    DeviceClassModel: {"spec": DeviceClassSpecModel},
    DeviceClassSpecModel: {"config": None},
    ResourceSliceModel: {"spec": ResourceSliceSpecModel},
    ResourceSliceSpecModel: {"sharedCounters": None, "nodeSelector": _NamesModel, "devices": DeviceModel},
    DeviceModel: {"consumesCounters": _NamesModel, "taints": _EffectModel, "nodeSelector": _NamesModel},
    ResourceClaimModel: {"spec": ResourceClaimSpecModel},
    ResourceClaimTemplateModel: {"spec": TemplateSpecModel},
    TemplateSpecModel: {"metadata": None, "spec": ResourceClaimSpecModel},
    ResourceClaimSpecModel: {"devices": DeviceWishesModel},
    DeviceWishesModel: {"config": None, "constraints": _NamesModel, "requests": DeviceRequestModel},
    DeviceRequestModel: {"exactly": ExactRequestModel, "firstAvailable": ExactRequestModel},
    ExactRequestModel: {"tolerations": None, "capacity": _NamesModel},
    DeviceTaintRuleModel: {"spec": DeviceTaintRuleSpecModel},
    DeviceTaintRuleSpecModel: {"deviceSelector": DeviceTaintSelectorModel, "taint": DeviceTaintModel},
    DeviceTaintModel: {"key": None, "value": None, "timeAdded": None},
}

for _model in (_NamesModel, _EffectModel):
    prepare(_model)


def reduce_parts(of: type[Model], tree: dict[str, Any], at: str = "") -> None:
    """Reduce the parts of an object that has been read as `of`, in place, to what is read of them.

    Raises:
        FieldError: a part, under the path `at`, cannot be read.
    """
    for name, part in _PARTS.get(of, {}).items():
        if name not in tree:
            continue
        if part is None:
            del tree[name]
        else:
            tree[name] = _reduced(part, tree[name], f"{at}.{name}" if at else name)


def _reduced(of: type[Model], part: Any, at: str) -> Any:  # noqa: ANN401 (a part, or a list of such)
    if isinstance(part, list | tuple):
        return [_reduced(of, one, f"{at}[{number}]") for number, one in enumerate(part)]
    model, _ = read_part(of, part, at)
    written: dict[str, Any] = msgspec.to_builtins(model)
    reduce_parts(of, written, at)
    return written | {name: {} for name in part if name not in of.__struct_encode_fields__}

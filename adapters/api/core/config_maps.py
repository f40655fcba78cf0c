"""ConfigMaps. One of them may hold settings."""

from __future__ import annotations

from msgspec import field

from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.reading import Reading, Translation
from treenail.adapters.api.workloads import ConfigMap


class ConfigMapModel(CoreObject, kw_only=True):
    """v1 ConfigMap."""

    data: dict[str, str] = field(default_factory=dict)


def config_map(model: ConfigMapModel, _reading: Reading) -> Translation:
    """Return the ConfigMap; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate()
    found = ConfigMap(
        **meta.identity,
        namespace=meta.namespace or "default",
        data=model.data,
    )
    return Translation(objects=(found,))

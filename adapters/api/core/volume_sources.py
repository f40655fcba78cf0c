"""In-tree volume plugins, and the CSI drivers that replaced them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import field

from treenail.adapters.api.model import Model
from treenail.domain.model.storage import CSI_DRIVERS

# By the field of a volume: the plugin, and the field within that names the disk.
_PLUGINS: Final[Mapping[str, tuple[str, str]]] = {
    "aws_elastic_block_store": ("kubernetes.io/aws-ebs", "volume_id"),
    "azure_disk": ("kubernetes.io/azure-disk", "disk_uri"),
    "cinder": ("kubernetes.io/cinder", "volume_id"),
    "gce_persistent_disk": ("kubernetes.io/gce-pd", "pd_name"),
    "vsphere_volume": ("kubernetes.io/vsphere-volume", "volume_path"),
}
_ZONED: Final = "aws://"


class DiskModel(Model):
    """A disk by whatever name its plugin has for it."""

    volume_id: str = field(default="", name="volumeID")
    disk_uri: str = field(default="", name="diskURI")
    pd_name: str = ""
    volume_path: str = ""


class DisksModel(Model):
    """A volume that may be a disk of such a plugin."""

    aws_elastic_block_store: DiskModel | None = None
    azure_disk: DiskModel | None = None
    cinder: DiskModel | None = None
    gce_persistent_disk: DiskModel | None = None
    vsphere_volume: DiskModel | None = None

    def disk(self) -> tuple[str, str]:
        """Return driver and handle of the disk, both "" where there is none."""
        for source, (plugin, named) in _PLUGINS.items():
            model = getattr(self, source)
            if model is not None:
                handle: str = getattr(model, named)
                # AWS' plugin wrote aws://ZONE/ID too.
                handle = handle.rpartition("/")[2] if handle.startswith(_ZONED) else handle
                return CSI_DRIVERS[plugin], handle
        return "", ""


def disk_manifest(driver: str, handle: str) -> dict[str, dict[str, str]]:
    """Write a disk of one of these plugins as the source of a volume."""
    for source, (plugin, named) in _PLUGINS.items():
        if CSI_DRIVERS[plugin] == driver:
            return {_written(DisksModel, source): {_written(DiskModel, named): handle}}
    return {}


def _written(model: type[Model], name: str) -> str:
    fields = dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))
    return fields[name]

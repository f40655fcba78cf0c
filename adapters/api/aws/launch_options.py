"""Launch options of node classes, as every version writes them: block devices, metadata options, tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.amounts import storage_bytes
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.model import Positive, Quantity, StrictModel
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG
from treenail.domain.model.node_classes import BlockDevice, MetadataOptions

_SMALLEST: Final = 10**9
_LARGEST: Final = 64 * 10**12
OUR_TAGS: Final = frozenset({CLUSTER_TAG, LAUNCH_TAG})

# No instance may have more.
InstanceTags: TypeAlias = Annotated[dict[str, str], Meta(max_length=50)]
VolumeType: TypeAlias = Literal["standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"]
HopLimit: TypeAlias = Annotated[int, Meta(ge=1, le=64)]
InitializationRate: TypeAlias = Annotated[int, Meta(ge=100, le=300)]


class EbsModel(StrictModel):
    """An EBS volume to be made for an instance."""

    delete_on_termination: bool | None = None
    encrypted: bool | None = None
    iops: Positive | None = None
    throughput: Positive | None = None
    kms_key_id: str = field(default="", name="kmsKeyID")
    snapshot_id: str = field(default="", name="snapshotID")
    volume_initialization_rate: InitializationRate | None = None
    volume_size: Quantity | None = None
    volume_type: VolumeType | None = None

    def check(self, at: str) -> None:
        """Raise FieldError unless the volume has a size or a snapshot, and what needs one has it."""
        if self.volume_size is None and not self.snapshot_id:
            raise FieldError(at, "needs volumeSize or snapshotID")
        if self.volume_initialization_rate is not None and not self.snapshot_id:
            raise FieldError(f"{at}.volumeInitializationRate", "needs snapshotID")


class BlockDeviceMappingModel(StrictModel):
    """A block device of an instance."""

    device_name: str = ""
    root_volume: bool = False
    ebs: EbsModel | None = None


def block_devices(models: Sequence[BlockDeviceMappingModel], at: str) -> tuple[BlockDevice, ...]:
    """Return the block devices at the path `at`; FieldError says what is wrong with one."""
    if sum(m.root_volume for m in models) > 1:
        raise FieldError(at, "only one may have rootVolume")
    return tuple(_block_device(m, f"{at}[{n}]") for n, m in enumerate(models))


def _block_device(model: BlockDeviceMappingModel, at: str) -> BlockDevice:
    ebs = model.ebs
    if ebs is None:
        raise FieldError(f"{at}.ebs", "is missing")
    ebs.check(f"{at}.ebs")
    return BlockDevice(
        device_name=model.device_name,
        root_volume=model.root_volume,
        volume_size=_size(ebs.volume_size, f"{at}.ebs.volumeSize"),
        volume_type=ebs.volume_type or "",
        iops=ebs.iops,
        throughput=ebs.throughput,
        encrypted=ebs.encrypted,
        delete_on_termination=ebs.delete_on_termination,
        kms_key_id=ebs.kms_key_id,
        snapshot_id=ebs.snapshot_id,
        volume_initialization_rate=ebs.volume_initialization_rate,
    )


def _size(quantity: Quantity | None, at: str) -> int | None:
    if quantity is None:
        return None
    size = storage_bytes(quantity, at)
    if not _SMALLEST <= size <= _LARGEST:
        raise FieldError(at, f"{quoted(quantity)} is not between 1G and 64T")
    return size


class MetadataOptionsModel(StrictModel):
    """Access to instance metadata. What is left out is as the version's default."""

    http_endpoint: Literal["enabled", "disabled"] | None = None
    http_protocol_ipv6: Literal["enabled", "disabled"] | None = field(default=None, name="httpProtocolIPv6")
    http_put_response_hop_limit: HopLimit | None = None
    http_tokens: Literal["required", "optional"] | None = None


def metadata_options(model: MetadataOptionsModel | None, otherwise: MetadataOptions) -> MetadataOptions:
    """Return the options, as `otherwise` where nothing is said."""
    if model is None:
        return otherwise
    return MetadataOptions(
        http_endpoint=model.http_endpoint or otherwise.http_endpoint,
        http_protocol_ipv6=model.http_protocol_ipv6 or otherwise.http_protocol_ipv6,
        http_put_response_hop_limit=model.http_put_response_hop_limit
        or otherwise.http_put_response_hop_limit,
        http_tokens=model.http_tokens or otherwise.http_tokens,
    )


def check_tags(tags: Mapping[str, str], at: str, *, restricted: Iterable[str], prefix: str) -> None:
    """Raise FieldError if a tag has no key, or one that instances get from us."""
    ours = OUR_TAGS.union(restricted)
    for key in tags:
        if not key:
            raise FieldError(at, "a tag has an empty key")
        if key in ours or key.startswith(prefix):
            raise FieldError(at, f"{quoted(key)} is restricted: instances get it by themselves")

"""karpenter.k8s.aws/v1beta1 EC2NodeClass. It is converted to v1, and means the same."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.aws.launch_options import (
    BlockDeviceMappingModel,
    InstanceTags,
    MetadataOptionsModel,
)
from treenail.adapters.api.aws.v1_node_class import RESTRICTED_TAGS
from treenail.adapters.api.aws.v1_selectors import (
    AmiTermModel,
    ImageId,
    SecurityGroupTermModel,
    SubnetTermModel,
    Tags,
)
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import NotEmpty, StrictModel

BETA_RESTRICTED_TAGS: Final = (
    *RESTRICTED_TAGS,
    "karpenter.sh/provisioner-name",
    "karpenter.sh/managed-by",
)
HOP_LIMIT: Final = 2
_TERMS: Final = Meta(min_length=1, max_length=30)

BetaFamily: TypeAlias = Literal[
    "AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022"
]


class BetaAmiTermModel(StrictModel):
    """Images by id, name, owner or tags."""

    tags: Tags | None = None
    id: ImageId | None = None
    name: str | None = None
    owner: str | None = None

    @property
    def of_v1(self) -> AmiTermModel:
        return AmiTermModel(tags=self.tags, id=self.id, name=self.name, owner=self.owner)


class BetaEC2NodeClassSpecModel(StrictModel, kw_only=True):
    """The spec of an EC2NodeClass of v1beta1."""

    subnet_selector_terms: Annotated[tuple[SubnetTermModel, ...], _TERMS]
    security_group_selector_terms: Annotated[tuple[SecurityGroupTermModel, ...], _TERMS]
    ami_selector_terms: Annotated[tuple[BetaAmiTermModel, ...], Meta(max_length=30)] = ()
    ami_family: BetaFamily
    role: NotEmpty | None = None
    instance_profile: NotEmpty | None = None
    user_data: str = ""
    context: str = ""
    tags: InstanceTags = field(default_factory=dict)
    block_device_mappings: Annotated[tuple[BlockDeviceMappingModel, ...], Meta(max_length=50)] = ()
    metadata_options: MetadataOptionsModel | None = None
    instance_store_policy: Literal["RAID0"] | None = None
    detailed_monitoring: bool | None = None
    associate_public_ip_address: bool | None = field(default=None, name="associatePublicIPAddress")


class BetaEC2NodeClassModel(StrictObject, kw_only=True):
    """karpenter.k8s.aws/v1beta1 EC2NodeClass. Its status is ours to write and not to read."""

    spec: BetaEC2NodeClassSpecModel
    status: dict[str, Any] = field(default_factory=dict)

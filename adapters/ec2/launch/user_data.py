"""User data of an instance: it joins the cluster, and does what the node class adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from treenail.adapters.ec2.launch.bootstrap_script import bootstrap_script
from treenail.adapters.ec2.launch.bottlerocket import bottlerocket
from treenail.adapters.ec2.launch.kubelet_settings import KubeletSettings
from treenail.adapters.ec2.launch.nodeadm import nodeadm
from treenail.adapters.ec2.launch.start_eks_bootstrap import start_eks_bootstrap
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import AmiFamily, NodeClass

# EC2 takes no more, before it is encoded.
_MOST_BYTES: Final = 16_384

_Writer: TypeAlias = Callable[[NodeClass, ClusterFacts, KubeletSettings], str]


def user_data(node_class: NodeClass, cluster: ClusterFacts, settings: KubeletSettings) -> str:
    """Return the user data of instances, for the same arguments always the same.

    Raises:
        NodeClassNotReadyError: it cannot be made for the class: its own user data is broken or too long, it
            asks what its image family cannot do, or what nodes must know of the cluster is missing.
    """
    try:
        text = _FAMILIES[node_class.ami_family](node_class, cluster, settings)
        size = len(text.encode())
    except ValueError as error:
        # It is made of what users wrote, of which not everything can be checked before.
        raise NodeClassNotReadyError(
            f"{node_class.ref}: spec.userData: none can be made: {error}", reason="UserDataInvalid"
        ) from None
    if size > _MOST_BYTES:
        raise NodeClassNotReadyError(
            f"{node_class.ref}: spec.userData: with what nodes need it has {size} bytes, of which EC2 takes "
            f"{_MOST_BYTES}",
            reason="UserDataSizeLimitExceeded",
        )
    return text


def _as_it_is(node_class: NodeClass, _cluster: ClusterFacts, _settings: KubeletSettings) -> str:
    return node_class.user_data


_FAMILIES: Final[Mapping[AmiFamily, _Writer]] = MappingProxyType(
    {
        AmiFamily.AL2: bootstrap_script,
        AmiFamily.AL2023: nodeadm,
        AmiFamily.BOTTLEROCKET: bottlerocket,
        AmiFamily.UBUNTU: bootstrap_script,
        AmiFamily.WINDOWS2019: start_eks_bootstrap,
        AmiFamily.WINDOWS2022: start_eks_bootstrap,
        AmiFamily.WINDOWS2025: start_eks_bootstrap,
        AmiFamily.CUSTOM: _as_it_is,
    }
)

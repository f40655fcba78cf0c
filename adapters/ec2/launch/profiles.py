"""The instance profile by which instances of a node class may act."""

from __future__ import annotations

from treenail.domain.node_classes import NodeClass
from treenail.domain.ports import NodeClassNotReadyError


def instance_profile_of(node_class: NodeClass, default: str) -> str:
    """Return the name of the profile: the node class's own, or else that of the settings.

    Raises:
        NodeClassNotReadyError: there is none; a role is not enough.
    """
    if node_class.instance_profile:
        return node_class.instance_profile
    if node_class.role:
        raise NodeClassNotReadyError(
            f"{node_class.ref}: it names the role {node_class.role}, and profiles are not made from roles "
            "yet: make an instance profile with that role, and name it in instanceProfile"
        )
    if not default:
        raise NodeClassNotReadyError(f"{node_class.ref}: it names no instance profile, and no setting does")
    return default

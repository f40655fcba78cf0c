"""Validation of user data: what no instance could boot with is refused."""

from __future__ import annotations

import tomllib
from typing import Final

from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import AmiFamily, NodeClass

# EC2 takes no more before it is encoded.
_MOST_BYTES: Final = 16_384


def check_user_data(node_class: NodeClass) -> None:
    """Let user data pass that instances of a node class can boot with.

    Raises:
        NodeClassNotReadyError: it is too large, or is none that its image family reads.
    """
    size = len(node_class.user_data.encode())
    if size > _MOST_BYTES:
        problem = f"spec.userData: it has {size} bytes, of which EC2 takes {_MOST_BYTES}"
        raise NodeClassNotReadyError(f"{node_class.ref}: {problem}", reason="UserDataSizeLimitExceeded")
    if node_class.ami_family is AmiFamily.BOTTLEROCKET:
        try:
            tomllib.loads(node_class.user_data)
        except tomllib.TOMLDecodeError as error:
            problem = f"spec.userData: it is no TOML: {error}"
            raise NodeClassNotReadyError(f"{node_class.ref}: {problem}", reason="UserDataInvalid") from None

"""Fields that ask for what cannot be done yet: it is said, and nothing is launched without them."""

from __future__ import annotations

from treenail.domain.node_classes import NodeClass
from treenail.domain.ports import NodeClassNotReadyError


def refuse_unmet(node_class: NodeClass) -> None:
    """Return where all that a node class says can be met.

    Raises:
        NodeClassNotReadyError: it names the fields that cannot.
    """
    if node_class.unmet:
        fields = ", ".join(node_class.unmet)
        raise NodeClassNotReadyError(
            f"{node_class.ref}: {fields}: cannot be met yet, and nothing is launched that would lack it",
            reason="UnsupportedFields",
        )

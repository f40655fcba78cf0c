"""Problems of a node class that cannot be launched from, as errors about its manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import Decoded, Manifest
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.status.readiness import selector_field

_PLAYED: Final = (
    "is for nodes that KWOK plays, and rehearsals have machines of EC2; `treenail simulate` decides for it"
)


def check_node_classes(
    decoded: Decoded, manifests: Sequence[Manifest], launchable: Callable[[NodePool, NodeClass], object]
) -> None:
    """Check that something can be launched from the node class of every pool.

    `launchable` is asked for what a pool could buy with its class.

    Raises:
        ManifestError: nothing can, because of what the manifest of the class says.
    """
    classes = {node_class.ref: node_class for node_class in decoded.node_classes}
    for pool in decoded.node_pools:
        node_class = classes.get(pool.node_class)
        if node_class is None:
            continue
        if node_class.ref.played:
            raise _complaint(node_class.ref, "", _PLAYED, manifests)
        try:
            launchable(pool, node_class)
        except NodeClassNotReadyError as error:
            raise problem_of(node_class.ref, error, manifests) from None


def problem_of(
    ref: NodeClassRef, error: NodeClassNotReadyError, manifests: Sequence[Manifest]
) -> ManifestError:
    """Return `error` as one that names the file and the field of the node class."""
    field = selector_field(ref, error.selector) or "spec"
    return _complaint(ref, field, str(error).removeprefix(f"{ref}: "), manifests)


def _complaint(ref: NodeClassRef, field: str, problem: str, manifests: Sequence[Manifest]) -> ManifestError:
    named = (m.file for m in manifests if (m.kind, m.name) == (ref.kind, ref.name))
    return ManifestError(next(named, "manifests"), f"{ref.kind} {ref.name}", field, problem)

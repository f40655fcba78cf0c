"""Names in log lines and events, and instance types whose nodes have no room beside the system."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.resources import total
from treenail.domain.model.taints import untolerated

_MOST_NAMED: Final = 5


def shortened(names: Sequence[str]) -> str:
    """Return names as a line has room for them: "a, b, c, d, e and 12 other(s)"."""
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} other(s)" if more > 0 else "")


def filled_by_system(
    pool: NodePool, types: Iterable[InstanceType], daemons: Iterable[PodSpec]
) -> tuple[str, ...]:
    """Return the types whose nodes kubelet, system and the daemons that run everywhere leave no room on.

    Daemons that ask for certain nodes are left out, as are those that the pool's taints keep off.
    """
    everywhere = (
        one.requests
        for one in daemons
        if not one.node_selector
        and not one.node_affinity.required
        and untolerated(pool.taints, one.tolerations) is None
    )
    load = total(everywhere)
    return tuple(t.name for t in types if not load.plus({"pods": 1}).fits(t.allocatable))

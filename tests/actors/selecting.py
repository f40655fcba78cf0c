"""The selector of node pools, and a shop to read the catalogue of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import StubCloud
from tests.builders import START, decision, instance_type, node_class, node_pool, resources
from tests.probes import Probe
from treenail.actors.node_pool_selector import NodePoolSelector
from treenail.domain.cluster.planning import Consolidation, PackRequested, Snapshot, SnapshotTaken
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.resources import Resources

LARGE = instance_type("m5.large", 2, price=0.1)
CLASS = "EC2NodeClass/default"


class Selecting(Stage):
    """A selector with a shop to read the catalogue of."""

    def __init__(self) -> None:
        super().__init__()
        self.cloud = StubCloud(self.world, LARGE)
        self.packer, self.reporter, self.cluster = Probe(), Probe(), Probe()
        self.selector: Any = self.host(
            lambda runtime: NodePoolSelector(
                runtime,
                packer=self.packer,
                reporter=self.reporter,
                cluster=self.cluster,
                cloud=self.cloud,
                volume_cost=lambda one: 0.01 * len(one.block_devices),
            )
        )

    def take(
        self,
        *pools: NodePool,
        of_class: NodeClass | None = None,
        seconds: float = 1,
        consolidation: Consolidation | None = None,
        limits_at_most: Mapping[str, Resources] | None = None,
    ) -> None:
        """Take a snapshot with these pools, of one node class (none, where its name is empty)."""
        classes = {CLASS: of_class or node_class()}
        if of_class is not None and not of_class.ref.name:
            classes = {}
        snapshot = Snapshot(
            revision=1,
            taken_at=START,
            pods=(),
            existing_nodes=(),
            pools=pools or (node_pool(),),
            node_classes=classes,
            daemons=(),
            limits_left={"limited": resources(cpu=3)},
            limits_at_most=limits_at_most or {},
        )
        self.selector.tell(SnapshotTaken(decision=decision(), snapshot=snapshot, consolidation=consolidation))
        self.run(seconds)

    def requests(self) -> list[PackRequested]:
        """Return what was passed on since this was last called."""
        found = self.packer.of(PackRequested)
        self.packer.received.clear()
        return found

    def only(self) -> PackRequested:
        (request,) = self.requests()
        return request

    def read(self) -> int:
        """Return how often the catalogue was read."""
        return len(self.cloud.troubles.calls)

"""A fleet launcher with an outside to launch in."""

from __future__ import annotations

from dataclasses import replace

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.builders import START, decision, gone, instance_type, node_class, node_pool, planned_claim
from tests.probes import Probe
from treenail.actors.fleet_launcher.fleet_launcher import FleetLauncher
from treenail.actors.fleet_launcher.launch_calls import LaunchCalls
from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.actors.termination_actor.termination_actor import TerminationActor
from treenail.adapters.fake.cluster import Change
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.launch.launching import ClaimFailed, NodeLaunched
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.scheduling.new_claims import claim_for

LARGE = instance_type("m5.large", 2, price=0.1)
XLARGE = instance_type("m5.xlarge", 4, price=0.2)
AWAY = UnavailableError("no answer")
FOR_LONG = 9  # one more than a step is tried again


class Launching(Stage):
    """A launcher with an API server that it watches, a shop to buy from, and one who sees claims out."""

    def __init__(self, *, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world, LARGE, XLARGE)
        self.api.apply(node_pool(), node_class())
        self.api.on_change(self._changed)
        self.cluster, self.selector, self.lifecycle = Probe(), Probe(), Probe()
        self.arbiter, self.observer = Probe(), Probe()
        self.start()

    def start(self) -> None:
        ends = DrainCalls(reader=self.api, writer=self.api, cloud=self.cloud)
        self.termination = self.host(
            lambda runtime: TerminationActor(
                runtime,
                arbiter=self.arbiter,
                observer=self.observer,
                calls=ends,
                writer=self.api,
                forced=True,
            )
        )
        calls = LaunchCalls(reader=self.api, writer=self.api, cloud=self.cloud, cluster_name="demo")
        self.launcher = self.host(
            lambda runtime: FleetLauncher(
                runtime,
                cluster=self.cluster,
                selector=self.selector,
                lifecycle=self.lifecycle,
                termination=self.termination,
                calls=calls,
            )
        )

    def restart(self) -> None:
        """Kill the launcher and start another, which is told of all claims there are."""
        self.kill()
        self.start()
        for claim in self.api.claims():
            self._tell(claim)

    def _changed(self, change: Change) -> None:
        if isinstance(change.after, NodeClaim):
            self._tell(change.after)
        elif isinstance(change.before, NodeClaim):
            self._tell_all(gone(change.before.name))

    def _tell(self, claim: NodeClaim) -> None:
        waits = not claim.launched and not claim.leaving
        pool, of_class = (node_pool(), node_class()) if waits else (None, None)
        view = NodeView(claim=claim)
        self._tell_all(NodeChanged(name=claim.name, view=view, pool=pool, node_class=of_class))

    def _tell_all(self, changed: NodeChanged) -> None:
        self.launcher.tell(changed)
        self.termination.tell(changed)

    def plan(self, *names: str) -> None:
        self.launcher.tell(
            PlanCommitted(
                decision=decision(),
                claims=tuple(map(wanted, names)),
                pools={"default": node_pool()},
                node_classes={"EC2NodeClass/default": node_class()},
            )
        )

    def instances(self) -> dict[str, str]:
        """Return which instance each claim says it has."""
        return {c.name: c.instance_id for c in self.api.claims()}

    def live(self) -> list[str]:
        """Return the claims nobody deleted."""
        return [c.name for c in self.api.claims() if not c.leaving]

    def assert_each_has_its_own(self, *names: str) -> None:
        """Check that the claims, and no others, have an instance each, and that no more was bought."""
        assert sorted(self.instances()) == sorted(names)
        assert sorted(self.instances().values()) == sorted(self.cloud.bought)
        assert sorted(m.claim.name for m in self.lifecycle.of(NodeLaunched)) == sorted(names)

    def failed(self) -> dict[str, Cause]:
        return {m.claim: m.cause for m in self.cluster.of(ClaimFailed)}


def wanted(name: str) -> NodeClaim:
    planned = replace(planned_claim("p1"), instance_types=("m5.large", "m5.xlarge"))
    made = claim_for(planned, ("p1",), pool=node_pool(), decision=decision(), index=0, now=START)
    return replace(made, name=name, owners=())


def launched(*names: str) -> Launching:
    """A launcher that was told to launch these, and had a minute."""
    stage = Launching()
    stage.plan(*names)
    stage.run(60)
    return stage

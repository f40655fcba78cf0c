"""A termination actor with nodes to end."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.actors.views import Views
from tests.builders import bound_pod, claim_of, instance, node_class, node_of, node_pool, view
from tests.probes import Probe
from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.actors.termination_actor.termination_actor import TerminationActor
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptNodes, NodeInterrupted
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector, Pod

OURS = (labels.TERMINATION_FINALIZER,)


class Ending(Stage):
    """A termination actor with an API server it hears of, and one node in use, 90 s old: c1."""

    def __init__(
        self, *, forced: bool = True, settings: ClusterSettings | None = None, **of_claim: Any
    ) -> None:
        super().__init__()
        self.forced = forced
        self.api = Api(self.world, settings)
        self.cloud = StubCloud(self.world)
        self.arbiter, self.observer = Probe(), Probe()
        self.api.apply(node_pool(), node_class())
        self.actor: Any = self.start()
        self.views = Views(self.api, self.actor)
        self.add("c1", **of_claim)
        self.run(90)

    def start(self) -> Any:
        calls = DrainCalls(reader=self.api, writer=self.api, cloud=self.cloud)
        return self.host(
            lambda runtime: TerminationActor(
                runtime,
                arbiter=self.arbiter,
                observer=self.observer,
                calls=calls,
                writer=self.api,
                forced=self.forced,
            )
        )

    def restart(self) -> None:
        self.kill()
        self.views.marked.clear()
        self.views.places.clear()
        self.actor = self.views.to = self.start()
        self.views.tell_all()

    def add(self, name: str, **of_claim: Any) -> None:
        """Put a node in use there: the claim `name`, the node node-`name`, the instance i-`name`."""
        there = view(name, of_claim={"finalizers": OURS, **of_claim})
        self.api.apply(replace(claim_of(there), uid=""), replace(node_of(there), finalizers=OURS))
        self.cloud.bought[f"i-{name}"] = instance(f"i-{name}", launched=self.seconds)

    def pod(self, name: str, **fields: Any) -> Pod:
        """Put a running pod on the node of c1."""
        there = replace(bound_pod(name, "node-c1", owner=""), uid="", **fields)
        self.api.apply(there)
        return next(p for p in self.api.pods() if p.name == name)

    def disrupt(self, cause: Cause = Cause.EMPTY) -> None:
        there = self.views.mark_for_disruption("c1")
        self.actor.tell(DisruptNodes(nodes=(there,), cause=cause, decided_at=self.now()))

    def interrupt(
        self, *, seconds: float | None = 120, name: str = "c1", decided: bool = True, **fields: Any
    ) -> None:
        """Announce the end of an instance, in so many seconds, for whose pods there is room elsewhere."""
        if self.views.view(name) is not None:
            self.views.mark_for_disruption(name)
        deadline = None if seconds is None else self.now() + timedelta(seconds=seconds)
        notice: dict[str, Any] = {
            "name": name,
            "instance_id": f"i-{name}",
            "cause": Cause.SPOT_INTERRUPTED,
            "noticed_at": self.now(),
            "deadline": deadline,
            **fields,
        }
        self.actor.tell(NodeInterrupted(**notice))
        if decided and name == "c1":
            self.decide()

    def decide(self, decision: str = "d1", *, ready: bool = True) -> None:
        """Let it be decided where the pods of c1 go: to a node that is ready, or that is on its way."""
        there = self.views.view("c1")
        pods = tuple(p for p in self.api.pods() if p.node_name == "node-c1")
        places = self.views.places["c1"] = {pod.uid: ready for pod in pods}
        self.actor.tell(
            NodeChanged(name="c1", view=there, going=True, pods=pods, decisions=(decision,), places=places)
        )

    def claim(self) -> NodeClaim | None:
        return next((c for c in self.api.claims() if c.name == "c1"), None)

    def node(self) -> Node | None:
        return next((n for n in self.api.nodes() if n.name == "node-c1"), None)

    def told(self) -> list[str]:
        return [type(m).__name__ for m in self.observer.received]

    def calls(self) -> list[str]:
        """Return every call that was made, to either side, in order."""
        return self.api.troubles.calls

    def assert_all_gone(self) -> None:
        assert self.api.claims() == ()
        assert self.api.nodes() == ()
        assert self.cloud.bought == {}


def moved(stage: Ending) -> list[str]:
    """Return the pods that were evicted or deleted, in order, each as often as it was."""
    return [c for c in stage.calls() if c.startswith(("evict_pod", "delete_pod"))]


def budget(stage: Ending, *, allowed: int) -> None:
    """Let so many pods with the label app=web be disrupted at a time."""
    stage.api.apply(
        PodDisruptionBudget(
            name="web",
            selector=LabelSelector(match_labels=(("app", "web"),)),
            max_unavailable=Portion(allowed),
        )
    )

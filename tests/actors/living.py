"""A node lifecycle with an API server and a cloud."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.actors.views import Views
from tests.builders import (
    claim,
    conditions,
    decision,
    instance,
    instance_type,
    node_class,
    node_pool,
    resources,
)
from tests.probes import Probe
from treenail.actors.node_lifecycle import NodeLifecycle
from treenail.domain.model import labels
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.nodes import LAUNCHED, Node, NodeClaim
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import UNREGISTERED, Effect, Taint

AWAY = UnavailableError("no answer")
ROOM = resources(cpu=4, pods=10)
PROVIDER = "aws:///a/i-1"
BOOT = Taint("boot", Effect.NO_SCHEDULE)


class Ending(Probe):
    """One who deletes claims that are given up, unless they go already."""

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api

    def tell(self, message: Any) -> None:
        super().tell(message)
        if any(c.name == message.name and not c.leaving for c in self._api.claims()):
            self._api.delete("NodeClaim", message.name)


class Living(Stage):
    """A lifecycle with an API server it hears of, and a cloud."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world, instance_type("m5.large", 2, price=0.1))
        self.api.apply(node_pool(), node_class())
        self.observer, self.selector, self.reporter = Probe(), Probe(), Probe()
        self.termination = Ending(self.api)
        self.actor: Any = self.start()
        self.views = Views(self.api, self.actor)

    def start(self) -> Any:
        return self.host(
            lambda runtime: NodeLifecycle(
                runtime,
                observer=self.observer,
                selector=self.selector,
                reporter=self.reporter,
                termination=self.termination,
                reader=self.api,
                writer=self.api,
                cloud=self.cloud,
            )
        )

    def restart(self) -> None:
        self.kill()
        self.actor = self.views.to = self.start()
        self.views.tell_all()

    def launch(self, name: str = "c1", **fields: Any) -> NodeClaim:
        """Put a launched claim there, whose instance runs."""
        traced = {labels.TRACEPARENT: decision().context.traceparent}
        bare = claim(name, version=0, provider_id=PROVIDER, room=ROOM, annotations=traced)
        there = replace(
            bare, uid="", created_at=self.now(), conditions=conditions(LAUNCHED, since=self.seconds), **fields
        )
        self.cloud.bought["i-1"] = instance("i-1", launched=self.seconds)
        self.api.apply(there)
        return self.claim(name)

    def join(self, *, ready_after: float = 0, room: Resources = ROOM) -> None:
        """Let the node of the instance join, and be ready so many seconds later."""
        self.api.join(
            node_name="n1",
            provider_id=PROVIDER,
            labels={},
            taints=(UNREGISTERED,),
            capacity=room,
            allocatable=room,
            ready_after=ready_after,
        )
        self.run(0)

    def claim(self, name: str = "c1") -> NodeClaim:
        return next(c for c in self.api.claims() if c.name == name)

    def node(self) -> Node:
        (there,) = self.api.nodes()
        return there

    def told(self) -> list[str]:
        return [type(m).__name__ for m in self.observer.received]

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.builders import changed, claim, instance, pending_pod
from treenail.actors.early_binder import EarlyBinder
from treenail.domain.model import labels
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod

AWAY = UnavailableError("no answer")
CALL = "5f1e"


class Early(Stage):
    """An early binder, and a call that has bought machines for some claims."""

    def __init__(self, claims: int = 1) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world)
        self.names = [f"c{n}" for n in range(claims)]
        for name in self.names:
            tagged = instance(f"i-{name}", tags={"treenail.sh/launch": CALL})
            self.cloud.bought[f"i-{name}"] = replace(tagged, node_name=f"node-{name}")
        self.actor: Any = self.host(lambda runtime: EarlyBinder(runtime, writer=self.api, cloud=self.cloud))

    def pod(self, name: str) -> Pod:
        self.api.apply(replace(pending_pod(name, owner=""), uid="", unschedulable_since=self.now()))
        return next(p for p in self.api.pods() if p.name == name)

    def promise(self, name: str, *pods: Pod) -> None:
        mark = {labels.LAUNCH: f"{CALL}/0/x"}
        there = claim(name, provider_id=f"aws:///a/i-{name}", annotations=mark)
        self.actor.tell(replace(changed(NodeView(claim=there)), promised=pods))

    def bound(self) -> dict[str, str]:
        return {p.name: p.node_name for p in self.api.pods() if p.node_name}


def test_claims_of_one_call_get_their_nodes_by_one_look_at_ec2() -> None:
    stage = Early(claims=20)
    for name in stage.names:
        stage.promise(name, stage.pod(f"of-{name}"))

    stage.run(5)

    assert stage.bound() == {f"of-{name}": f"node-{name}" for name in stage.names}
    assert stage.cloud.troubles.calls.count("launched_by") == 1


def test_many_pods_that_fail_at_once_are_one_failure() -> None:
    stage = Early()
    stage.api.troubles.fail("bind_pod", AWAY, times=20)

    stage.promise("c0", *(stage.pod(f"p{n}") for n in range(20)))
    stage.run(10)

    assert len(stage.bound()) == 20


def test_a_machine_whose_name_is_not_known_yet_is_asked_for_again() -> None:
    stage = Early()
    nameless = stage.cloud.bought["i-c0"]
    stage.cloud.bought["i-c0"] = replace(nameless, node_name="")
    stage.promise("c0", stage.pod("p"))
    stage.run(1)
    assert stage.bound() == {}

    stage.cloud.bought["i-c0"] = nameless
    stage.run(5)

    assert stage.bound() == {"p": "node-c0"}


def test_what_never_works_is_left_to_the_scheduler() -> None:
    stage = Early()
    stage.api.troubles.fail("bind_pod", AWAY, times=1000)

    stage.promise("c0", stage.pod("p"))
    stage.run(600)

    assert stage.bound() == {}
    assert stage.api.troubles.calls.count("bind_pod p") < 10

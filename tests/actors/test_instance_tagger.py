from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.actors.views import Views
from tests.builders import claim_of, instance, node_class, node_of, node_pool, view
from treenail.actors.instance_tagger import InstanceTagger
from treenail.domain.lifecycle.tagging import CLUSTER_TAGGED, TAGGED
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, UnavailableError


class Tagging(Stage):
    """A tagger with an API server it hears of, and nodes that join."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Api(self.world)
        self.cloud = StubCloud(self.world)
        self.api.apply(node_pool(), node_class())
        self.views = Views(self.api, self.start())

    def start(self) -> Any:
        return self.host(lambda runtime: InstanceTagger(runtime, writer=self.api, cloud=self.cloud))

    def restart(self) -> None:
        self.kill()
        self.views.to = self.start()
        self.views.tell_all()

    def join(self, *names: str) -> None:
        """Let nodes join: the claim `name`, the node node-`name`, the instance i-`name`."""
        for name in names:
            there = view(name)
            self.cloud.bought[f"i-{name}"] = instance(f"i-{name}")
            self.api.apply(replace(claim_of(there), uid=""), node_of(there))

    def tagged(self) -> list[str]:
        """Return the claims that say that their instance is tagged."""
        said = {TAGGED, CLUSTER_TAGGED}
        return [
            c.name for c in self.api.claims() if {k for k in said if c.annotations.get(k) == "true"} == said
        ]

    def tags(self, name: str) -> tuple[str, str]:
        """Return what an instance says it is, and whose."""
        tags = self.cloud.bought[f"i-{name}"].tags
        return tags.get("Name", ""), tags.get(labels.NODECLAIM, "")

    def calls(self) -> list[str]:
        return self.cloud.troubles.calls


def test_an_instance_whose_node_has_joined_is_called_like_it() -> None:
    stage = Tagging()

    stage.join("c1")
    stage.run(10)

    assert stage.tags("c1") == ("node-c1", "c1")
    assert stage.tagged() == ["c1"]


def test_many_are_listed_once_and_tagged_one_after_the_other() -> None:
    stage = Tagging()
    names = [f"c{number}" for number in range(20)]

    stage.join(*names)
    stage.run(30)

    assert stage.calls() == ["instances", *(f"tag i-{name}" for name in sorted(names))]
    assert len(stage.tagged()) == 20


def test_no_more_than_five_are_tagged_in_a_second() -> None:
    stage = Tagging()
    stage.join(*(f"c{number}" for number in range(100)))

    stage.run(2 + 10)

    assert 0 < len(stage.tagged()) <= 50


def test_those_that_join_meanwhile_get_their_turn() -> None:
    stage = Tagging()
    stage.join("c1", "c2", "c3")
    stage.at(2.8, lambda: stage.join("d1"))

    stage.run(30)

    assert stage.tags("d1") == ("node-d1", "d1")
    assert stage.calls().count("instances") == 2


def test_an_instance_that_cannot_be_seen_yet_is_tagged_when_it_can() -> None:
    stage = Tagging()
    stage.cloud.invisible["i-c1"] = None
    stage.at(15, stage.cloud.invisible.clear)

    stage.join("c1", "c2")
    stage.run(10)
    assert stage.tagged() == ["c2"]
    stage.run(40)

    assert stage.tagged() == ["c1", "c2"]


def test_what_fails_is_tried_again_with_growing_pauses() -> None:
    stage = Tagging()
    stage.cloud.troubles.fail("tag", InvalidError("TagLimitExceeded"), times=4)

    stage.join("c1")
    # By then three pauses are over, however long they are by chance, and the fourth cannot be.
    stage.run(80)
    assert stage.calls().count("tag i-c1") == 4
    stage.run(200)

    assert stage.tagged() == ["c1"]
    assert len(stage.logged("cannot tag instance")) == 1


def test_one_that_fails_keeps_nobody_else() -> None:
    stage = Tagging()
    stage.cloud.troubles.fail("tag", UnavailableError("no answer"), done=True)

    stage.join("c1", "c2")
    stage.run(5)
    assert stage.tagged() == ["c2"]
    stage.run(30)

    assert stage.tagged() == ["c1", "c2"]
    assert stage.calls().count("tag i-c1") == 1


def test_a_listing_that_fails_is_asked_for_again() -> None:
    stage = Tagging()
    stage.cloud.troubles.fail("instances", UnavailableError("no answer"), times=2)

    stage.join("c1")
    stage.run(40)

    assert stage.tagged() == ["c1"]


def test_a_restart_goes_on_where_it_stopped() -> None:
    stage = Tagging()
    stage.join(*(f"c{number}" for number in range(20)))
    stage.run(5)
    done = len(stage.tagged())
    assert 0 < done < 20

    stage.restart()
    stage.run(30)

    assert len(stage.tagged()) == 20
    assert len([call for call in stage.calls() if call.startswith("tag ")]) <= 21  # the one that was out


def test_what_goes_is_not_tagged_any_more() -> None:
    stage = Tagging()
    stage.join("c1")

    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    assert stage.calls() == []

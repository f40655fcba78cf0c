from __future__ import annotations

from tests.builders import START, claim
from tests.probes import Probe
from treenail.actors.runtime.standby import Standby, of_batcher, of_disruptor, of_nodes
from treenail.domain.cluster.batch_window import PodBecamePending, PodLeft
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptionRefused, NodeEmptied
from treenail.domain.model.blockers import Block
from treenail.domain.model.nodes import NodeView


def pending(uid: str) -> PodBecamePending:
    return PodBecamePending(uid=uid, since=START)


def test_of_each_thing_the_last_message_is_handed_on_and_what_is_over_is_not() -> None:
    heard, standby = Probe(), Standby[object](of_batcher)
    for message in (pending("a"), pending("b"), pending("a"), PodLeft(uid="b"), PodLeft(uid="c")):
        standby.tell(message)

    standby.leads_to(heard)
    standby.tell(PodLeft(uid="a"))

    assert heard.received == [pending("a"), PodLeft(uid="a")]


def test_nodes_that_are_gone_are_not_told_of() -> None:
    heard, standby = Probe(), Standby[object](of_nodes)
    there = NodeChanged(name="a", view=NodeView(claim=claim("a")))
    standby.tell(there)
    standby.tell(NodeChanged(name="b", view=NodeView(claim=claim("b"))))
    standby.tell(NodeChanged(name="b", view=None))

    standby.leads_to(heard)

    assert heard.received == [there]


def test_a_disruptor_hears_which_nodes_are_empty_and_of_no_refusal_of_before() -> None:
    heard, standby = Probe(), Standby[object](of_disruptor)
    empty = NodeEmptied(name="a", since=START)
    standby.tell(empty)
    standby.tell(NodeEmptied(name="b", since=START))
    standby.tell(NodeEmptied(name="b", since=None))
    standby.tell(DisruptionRefused(pool="p", candidates=("a",), why=Block.CHANGED.by()))

    standby.leads_to(heard)

    assert heard.received == [empty]

"""Who looks after nodes hears of them when there is news, and of pods only where they matter."""

from __future__ import annotations

from dataclasses import replace

from tests.actors.cluster_rig import IN_USE, Knowing
from tests.builders import START, bound_pod, claim, pending_pod
from tests.probes import Probe
from treenail.actors.cluster_state.node_publisher import NodePublisher
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.cluster.promises import Promise
from treenail.domain.disruption.disruption import NodeEmptied
from treenail.domain.disruption.moves_under_way import MovesUnderWay


def test_pods_that_come_and_go_on_a_node_that_stays_are_no_news_of_it() -> None:
    stage = Knowing(*IN_USE, bound_pod("p1", "node-c1"))
    told = len(stage.lifecycle.of(NodeChanged))

    stage.see(bound_pod("p2", "node-c1"), bound_pod("p3", "node-c1"))

    assert len(stage.lifecycle.of(NodeChanged)) == told


def test_whether_a_node_is_empty_is_told_all_the_same() -> None:
    stage = Knowing(*IN_USE)

    stage.see(bound_pod("p1", "node-c1"))

    assert [emptied.since is None for emptied in stage.disruptor.of(NodeEmptied)] == [False, True]


def test_a_node_that_comes_back_as_it_was_is_news() -> None:
    stage = Knowing()
    teller = NodePublisher(
        stage.model,
        MovesUnderWay(stage.model),
        (hears := Probe(),),
        early_binder=None,
        disruptor=lambda _: Probe(),
        recorder=Probe(),
    )

    for _ in range(2):
        stage.model.learn(ObjectSeen(object=replace(claim("c1"), uid="")), START)
        teller.tell("c1", START)
        teller.tell("c1", START)
        stage.model.drop_claim("c1")
        teller.tell("c1", START)

    assert [message.view is not None for message in hears.of(NodeChanged)] == [True, False, True, False]


def test_who_binds_early_hears_of_pods_that_wait_for_a_machine_and_nobody_else_does() -> None:
    stage = Knowing(claim("c1", provider_id="aws:///zone/i-1"))
    hears, early = Probe(), Probe()
    teller = NodePublisher(
        stage.model,
        MovesUnderWay(stage.model),
        (hears,),
        early_binder=early,
        disruptor=lambda _: Probe(),
        recorder=Probe(),
    )
    teller.tell("c1", START)

    pod = pending_pod("p1")
    stage.see(pod)
    stage.model.keep(Promise(like=replace(pod), target="c1", decision="d1"))
    teller.tell("c1", START)

    assert len(hears.of(NodeChanged)) == 1
    assert [[p.uid for p in message.promised] for message in early.of(NodeChanged)] == [[], ["p1"]]

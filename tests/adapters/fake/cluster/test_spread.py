from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.fake.cluster.builders import a_daemon_set, a_deployment, a_node, a_pod, a_spec
from tests.adapters.fake.cluster.rig import Rig
from treenail.domain.model.labels import HOSTNAME, ZONE
from treenail.domain.model.nodes import Node
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import Expression, LabelSelector, NodeAffinity, Pod, PodSpec, TopologySpread
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint

WEB = LabelSelector(match_labels=(("app", "web"),))
UNEVEN = "node(s) didn't match pod topology spread constraints"
GPU = Taint("team", Effect.NO_SCHEDULE, "gpu")


def in_zone(name: str, zone: str, *, cpu: str = "16", **more: Any) -> Node:
    named = {ZONE: zone, HOSTNAME: name, **more.pop("labels", {})}
    return a_node(name, cpu=cpu, labels=named, **more)


def spread(key: str = ZONE, max_skew: int = 1, **more: Any) -> TopologySpread:
    return TopologySpread(key, max_skew, hard=True, **{"selector": WEB, **more})


def spreading(*constraints: TopologySpread, **more: Any) -> PodSpec:
    return a_spec(spread=constraints or (spread(),), **more)


def web(name: str, spec: PodSpec | None = None, **fields: Any) -> Pod:
    return a_pod(name, spec=spec or spreading(), **{"labels": {"app": "web"}, **fields})


def by_zone(rig: Rig, prefix: str = "web") -> dict[str, int]:
    rig.run(5)
    zones = {node.name: node.labels.get(ZONE, "") for node in rig.cluster.nodes()}
    return Counter(zones[pod.node_name] for pod in rig.pods_of(prefix) if pod.node_name)


def waiting(rig: Rig) -> list[str]:
    rig.run(5)
    return [pod.name for pod in rig.cluster.pods() if not pod.node_name]


def test_pods_spread_evenly_over_zones_of_unequal_room() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a", cpu="64"), in_zone("b", "b"), in_zone("c", "c"))
    rig.cluster.apply(a_deployment("web", 9, spec=spreading()))

    assert by_zone(rig) == {"a": 3, "b": 3, "c": 3}


def test_a_pod_waits_where_only_the_fullest_zone_has_room_and_is_told_so() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", cpu="1"), a_deployment("web", 4, spec=spreading()))

    assert by_zone(rig) == {"a": 2, "b": 1}
    [left] = waiting(rig)
    assert rig.reasons(left) == [
        ("FailedScheduling", f"0/2 nodes are available: 1 Insufficient cpu, 1 {UNEVEN}.")
    ]


def test_a_larger_skew_lets_one_zone_have_more() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", cpu="1"))
    rig.cluster.apply(a_deployment("web", 9, spec=spreading(spread(max_skew=3))))

    assert by_zone(rig) == {"a": 4, "b": 1}


def test_pods_that_wait_go_on_when_another_zone_gets_a_node() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", cpu="1"), a_deployment("web", 6, spec=spreading()))
    assert by_zone(rig) == {"a": 2, "b": 1}

    rig.cluster.apply(in_zone("b-2", "b"))

    assert by_zone(rig) == {"a": 3, "b": 3}


def test_a_zone_without_a_pod_holds_the_others_back_until_its_last_node_is_gone() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", taints=(GPU,)))
    rig.cluster.apply(a_deployment("web", 3, spec=spreading()))
    assert by_zone(rig) == {"a": 1}

    rig.cluster.delete("Node", "b")

    assert by_zone(rig) == {"a": 3}


def test_a_spread_over_fewer_zones_than_it_asks_for_counts_from_nothing() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b"))
    rig.cluster.apply(a_deployment("web", 4, spec=spreading(spread(min_domains=3))))
    assert by_zone(rig) == {"a": 1, "b": 1}

    rig.cluster.apply(in_zone("c", "c"))

    assert sorted(by_zone(rig).values()) == [1, 1, 2]


def test_a_node_without_the_label_takes_none() -> None:
    rig = Rig()
    rig.cluster.apply(a_node("n-0"), web("web-0"))

    assert waiting(rig) == ["web-0"]
    assert rig.reasons("web-0")[0][1] == f"0/1 nodes are available: 1 {UNEVEN} (missing required label)."

    rig.cluster.patch_node("n-0", NodePatch(labels={ZONE: "a"}))
    assert waiting(rig) == []


def test_a_node_counts_only_where_it_has_the_labels_of_all_constraints() -> None:
    rig = Rig()
    spec = spreading(spread(), spread("rack", 10))
    rig.cluster.apply(in_zone("a", "a", labels={"rack": "1"}), in_zone("b", "b"))
    rig.cluster.apply(a_deployment("web", 3, spec=spec))

    assert by_zone(rig) == {"a": 3}


def test_two_constraints_hold_both() -> None:
    rig = Rig()
    rig.cluster.apply(*(in_zone(f"{zone}-{n}", zone) for zone in "ab" for n in range(2)))
    spec = spreading(spread(), spread(HOSTNAME))
    rig.cluster.apply(a_deployment("web", 8, spec=spec))
    rig.run(5)

    assert Counter(pod.node_name for pod in rig.cluster.pods()) == dict.fromkeys(
        ("a-0", "a-1", "b-0", "b-1"), 2
    )


def test_what_a_selector_does_not_select_counts_for_nothing() -> None:
    rig = Rig()
    others = [
        web("other-namespace", a_spec(), namespace="prod"),
        web("other-app", a_spec(), labels={"app": "api"}),
    ]
    rig.cluster.apply(in_zone("a", "a"), *others)
    rig.run(5)
    rig.cluster.apply(in_zone("b", "b", cpu="1"), web("web-0"), web("web-1"))

    assert by_zone(rig) == {"a": 1, "b": 1}


def test_a_pod_that_does_not_count_itself_may_go_where_the_skew_is_the_largest() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), web("web-0", a_spec()))
    rig.run(5)
    rig.cluster.apply(in_zone("b", "b", cpu="0"))
    rig.cluster.apply(web("guest", labels={"app": "guest"}), web("web-1"))

    assert waiting(rig) == ["web-1"]


def test_a_constraint_without_a_selector_counts_nobody() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", cpu="0"))
    rig.cluster.apply(a_deployment("web", 3, spec=spreading(spread(selector=None))))

    assert by_zone(rig) == {"a": 3}


def test_pods_count_among_those_with_the_same_values_of_match_label_keys_alone() -> None:
    rig = Rig()
    keyed = spreading(spread(match_label_keys=("version",)))
    rig.cluster.apply(in_zone("a", "a"))
    rig.cluster.apply(*(web(f"old-{n}", keyed, labels={"app": "web", "version": "1"}) for n in range(2)))
    rig.run(5)
    rig.cluster.apply(in_zone("b", "b", cpu="1"))
    rig.cluster.apply(*(web(f"new-{n}", keyed, labels={"app": "web", "version": "2"}) for n in range(2)))

    assert by_zone(rig, "new") == {"a": 1, "b": 1}


@pytest.mark.parametrize(("honoured", "running"), [(True, 3), (False, 1)])
def test_zones_that_a_pods_own_affinity_excludes_count_as_the_policy_says(
    honoured: bool,  # noqa: FBT001
    running: int,
) -> None:
    rig = Rig()
    only_a = NodeAffinity(required=((Expression(ZONE, Operator.IN, ("a",)),),))
    spec = spreading(spread(honor_node_affinity=honoured), node_affinity=only_a)
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b"), a_deployment("web", 3, spec=spec))

    assert by_zone(rig) == {"a": running}


@pytest.mark.parametrize(("honoured", "running"), [(True, 3), (False, 1)])
@pytest.mark.parametrize("closed", [{"taints": (GPU,)}, {"unschedulable": True}], ids=["tainted", "cordoned"])
def test_zones_whose_taints_a_pod_does_not_tolerate_count_as_the_policy_says(
    closed: dict[str, Any],
    honoured: bool,  # noqa: FBT001
    running: int,
) -> None:
    rig = Rig()
    spec = spreading(spread(honor_node_taints=honoured))
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", **closed), a_deployment("web", 3, spec=spec))

    assert by_zone(rig) == {"a": running}


def test_a_terminating_pod_counts_no_more() -> None:
    rig = Rig()
    slow = replace(spreading(), grace_seconds=1000)
    rig.cluster.apply(in_zone("a", "a"), web("web-0", slow))
    rig.run(5)
    rig.cluster.apply(in_zone("b", "b", cpu="0"), web("web-1", slow))
    assert waiting(rig) == ["web-1"]

    rig.cluster.delete("Pod", "web-0")
    rig.run(0.5)

    assert [(p.name, p.node_name) for p in rig.cluster.pods() if p.deleting_since is None] == [("web-1", "a")]


def test_a_bound_pod_that_is_given_other_labels_counts_no_more() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), web("web-0", a_spec()))
    rig.run(5)
    rig.cluster.apply(in_zone("b", "b", cpu="0"), web("web-1"))
    assert waiting(rig) == ["web-1"]

    rig.cluster.apply(replace(rig.pod("web-0"), labels={"app": "old"}))

    assert waiting(rig) == []


def test_a_pod_that_is_given_other_labels_while_it_waits_is_looked_at_anew() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a", "a"), web("web-0", a_spec()))
    rig.run(5)
    rig.cluster.apply(in_zone("b", "b", cpu="0"), web("web-1"))
    assert waiting(rig) == ["web-1"]

    rig.cluster.apply(replace(rig.pod("web-1"), labels={"app": "guest"}))

    assert waiting(rig) == []


def test_a_mere_wish_to_spread_holds_no_pod_up() -> None:
    rig = Rig()
    wish = TopologySpread(ZONE, 1, hard=False, selector=WEB)
    rig.cluster.apply(in_zone("a", "a"), in_zone("b", "b", cpu="0"))
    rig.cluster.apply(a_deployment("web", 3, spec=spreading(wish)))

    assert by_zone(rig) == {"a": 3}


def test_a_mere_wish_to_spread_chooses_the_zone_with_the_fewest_pods_before_the_emptiest_node() -> None:
    rig = Rig()
    wish = TopologySpread(ZONE, 1, hard=False, selector=WEB)
    rig.cluster.apply(in_zone("a", "a", cpu="64"), in_zone("b", "b"), in_zone("c", "c"))
    rig.cluster.apply(a_deployment("web", 9, spec=spreading(wish)))

    assert by_zone(rig) == {"a": 3, "b": 3, "c": 3}


def test_wishes_to_spread_over_zones_and_over_nodes_are_both_kept_where_they_can_be() -> None:
    rig = Rig()
    over_zones = TopologySpread(ZONE, 1, hard=False, selector=WEB)
    over_nodes = TopologySpread(HOSTNAME, 1, hard=False, selector=WEB)
    rig.cluster.apply(*(in_zone(f"{zone}{n}", zone, cpu="16") for zone in "ab" for n in range(3)))
    rig.cluster.apply(a_deployment("web", 6, spec=spreading(over_zones, over_nodes)))

    assert by_zone(rig) == {"a": 3, "b": 3}
    assert len({pod.node_name for pod in rig.pods_of("web")}) == 6


def test_a_node_without_the_label_of_a_wish_is_the_last_choice() -> None:
    rig = Rig()
    wish = TopologySpread("rack", 1, hard=False, selector=WEB)
    rig.cluster.apply(in_zone("none", "a", cpu="64"), in_zone("one", "a", cpu="4", labels={"rack": "1"}))
    rig.cluster.apply(a_deployment("web", 2, spec=spreading(wish)))
    rig.run(5)

    assert {pod.node_name for pod in rig.pods_of("web")} == {"one"}


def test_the_spread_of_a_daemon_looks_at_its_own_node_alone() -> None:
    rig = Rig()
    everything = LabelSelector()
    constraint = TopologySpread(ZONE, 1, hard=True, selector=everything)
    rig.cluster.apply(*(in_zone(f"n-{n}", "a") for n in range(3)), in_zone("b", "b", cpu="0"))
    rig.cluster.apply(a_daemon_set("log", spread=(constraint,)))
    rig.run(5)

    assert [pod.node_name for pod in rig.pods_of("log")].count("") == 1
    assert {pod.node_name for pod in rig.pods_of("log")} == {"n-0", "n-1", "n-2", ""}

from __future__ import annotations

from typing import Any

import pytest

from tests.fuzz.check.faults import Kind
from tests.fuzz.manifests import ARCH, POOL, REQUIRED, ZONE, container, daemon_set, need
from tests.fuzz.situations import LARGE, SMALL, A, B, claim, decision, kinds, machine, pool, running, waiting

TAINT = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
PODS = [waiting("a"), waiting("b")]


def daemons(**spec: Any) -> Any:
    requests = {"cpu": spec.pop("cpu", "500m"), "memory": "100Mi"}
    spec["containers"] = [container(requests, ports=spec.pop("ports", []))]
    return daemon_set("agent", {"ds": "agent"}, {"tolerations": [{"operator": "Exists"}], **spec})


def required(*lines: Any) -> Any:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(lines)}]}}}


def test_a_decision_that_keeps_all_rules_has_no_fault() -> None:
    items = [pool(), machine("node"), *PODS]

    assert kinds(items, decision(claim("a", types=[SMALL, LARGE]), existing={"node": ["b"]})) == set()


@pytest.mark.parametrize(
    "decided",
    [
        decision(claim("a")),
        decision(claim("a", "b"), claim("b")),
        decision(claim("a", "b"), refused=["b"]),
        decision(claim("a", "b", "stranger")),
        decision(claim("a", "b"), existing={"nowhere": []}),
        decision(claim("a", "b", of="another")),
        decision(claim("a", "b"), claim()),
    ],
    ids=[
        "no decision",
        "twice",
        "placed and refused",
        "no such pod",
        "no such node",
        "no such pool",
        "no pods",
    ],
)
def test_every_pod_has_one_place(decided: Any) -> None:
    assert Kind.DECISION in kinds([pool(), *PODS], decided)


def test_taints_are_tolerated() -> None:
    items = [pool(taints=[TAINT]), pool("open"), machine("node", taints=[TAINT]), *PODS]

    assert kinds(items, decision(claim("a"), claim("b", of="open"))) == {Kind.TAINT}
    assert kinds(items, decision(claim("a", of="open"), existing={"node": ["b"]})) == {Kind.TAINT}


def test_startup_taints_and_taints_that_only_advise_do_not_block() -> None:
    soft = {**TAINT, "effect": "PreferNoSchedule"}
    items = [pool(taints=[soft], startupTaints=[TAINT]), *PODS]

    assert kinds(items, decision(claim("a", "b"))) == set()


def test_selectors_are_met_however_the_node_turns_out() -> None:
    items = [pool(), waiting("a", nodeSelector={ZONE: A})]

    assert kinds(items, decision(claim("a", zone=A))) == set()
    assert kinds(items, decision(claim("a", zone=B))) == {Kind.REQUIREMENT}
    assert kinds(items, decision(claim("a"))) == {Kind.REQUIREMENT}


def test_affinity_to_nodes_is_met() -> None:
    items = [pool(), machine("node", B), waiting("a", affinity=required(need(ZONE, "NotIn", B)))]

    assert kinds(items, decision(claim("a", zone=A))) == set()
    assert kinds(items, decision(existing={"node": ["a"]})) == {Kind.REQUIREMENT}


def test_a_label_that_the_pool_settles_later_must_fit_for_sure() -> None:
    items = [pool("default", need("rack", "In", "1", "2")), waiting("a", nodeSelector={"rack": "1"})]

    assert kinds(items, decision(claim("a", requirements=[need("rack", "In", "1")]))) == set()
    assert kinds(items, decision(claim("a"))) == {Kind.REQUIREMENT}


def test_a_label_that_no_pool_knows_is_not_there() -> None:
    items = [pool(), waiting("a", affinity=required(need("rack", "Exists")))]

    assert kinds(items, decision(claim("a"))) == {Kind.REQUIREMENT}


def test_types_have_offerings_that_the_claim_may_use() -> None:
    items = [pool(), *PODS]

    assert kinds(items, decision(claim("a", "b", types=[SMALL, "s-4x-arm64-linux"]))) == {Kind.OFFERING}
    assert kinds(items, decision(claim("a", "b", types=[SMALL, "unheard-of"]))) == {Kind.OFFERING}


def test_the_price_is_that_of_the_cheapest_offering() -> None:
    assert kinds([pool(), *PODS], decision(claim("a", "b", price=0.01))) == {Kind.PRICE}


def test_new_nodes_have_room_for_pods_and_daemons() -> None:
    pods = [waiting("a", cpu="3"), waiting("b", cpu="800m")]

    assert kinds([pool(), *pods], decision(claim("a", "b"))) == set()
    assert kinds([pool(), *pods, daemons()], decision(claim("a", "b"))) == {Kind.CAPACITY}
    elsewhere = daemons(nodeSelector={ARCH: "arm64"})
    assert kinds([pool(), *pods, elsewhere], decision(claim("a", "b"))) == set()


def test_every_type_of_a_claim_has_room() -> None:
    items = [pool(), waiting("a", cpu="6")]

    assert kinds(items, decision(claim("a", types=[LARGE]))) == set()
    assert kinds(items, decision(claim("a", types=[SMALL, LARGE]))) == {Kind.CAPACITY}


def test_init_containers_sidecars_and_overhead_take_room() -> None:
    init = container({"cpu": "3500m"}, name="init")
    sidecar = container({"cpu": "600m"}, name="sidecar", restartPolicy="Always")

    assert kinds([pool(), waiting("a", initContainers=[init])], decision(claim("a"))) == set()
    assert kinds([pool(), waiting("a", initContainers=[init, sidecar])], decision(claim("a"))) == set()
    assert kinds([pool(), waiting("a", initContainers=[sidecar, init])], decision(claim("a"))) == {
        Kind.CAPACITY
    }
    assert kinds([pool(), waiting("a", overhead={"cpu": "3"})], decision(claim("a"))) == {Kind.CAPACITY}


def test_nodes_have_room_beside_what_is_bound_and_daemons_to_come() -> None:
    items = [pool(), machine("node"), running("there", "node", cpu="2"), waiting("a", cpu="1800m")]

    assert kinds(items, decision(existing={"node": ["a"]})) == set()
    assert kinds([*items, daemons()], decision(existing={"node": ["a"]})) == {Kind.CAPACITY}
    mine = {"kind": "DaemonSet", "name": "agent", "uid": "1", "apiVersion": "apps/v1", "controller": True}
    agent = running("agent-1", "node", cpu="150m")
    agent["metadata"]["ownerReferences"] = [mine]
    assert kinds([*items, daemons(cpu="150m"), agent], decision(existing={"node": ["a"]})) == set()


def test_host_ports_do_not_clash() -> None:
    ports = [{"hostPort": 80}]
    pods = [waiting("a", ports=ports), waiting("b", ports=ports)]

    assert kinds([pool(), *pods], decision(claim("a"), claim("b"))) == set()
    assert kinds([pool(), *pods], decision(claim("a", "b"))) == {Kind.PORT}
    there = [machine("node"), running("there", "node", ports=ports)]
    assert kinds([pool(), *there, *pods], decision(claim("a"), existing={"node": ["b"]})) == {Kind.PORT}
    assert Kind.PORT in kinds([pool(), daemons(ports=ports), *pods], decision(claim("a"), claim("b")))


def test_host_ports_of_other_protocols_or_addresses_do_not_clash() -> None:
    first = {"hostPort": 80, "hostIP": "10.0.0.1"}
    for other in ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80, "hostIP": "10.0.0.2"}):
        items = [pool(), waiting("a", ports=[first]), waiting("b", ports=[other])]
        assert kinds(items, decision(claim("a", "b"))) == set()


def test_limits_are_kept() -> None:
    for limits in ({"cpu": "7"}, {"memory": "20Gi"}, {"nodes": "1"}):
        items = [pool(limits=limits), waiting("a", cpu="3"), waiting("b", cpu="3")]
        assert kinds(items, decision(claim("a"), refused=["b"])) == set()
        assert kinds(items, decision(claim("a"), claim("b"))) == {Kind.LIMIT}


def test_nodes_that_are_there_count_against_limits() -> None:
    items = [pool(limits={"cpu": "7"}), machine("node", labels={POOL: "default"}), waiting("a", cpu="3500m")]

    assert kinds([*items, running("there", "node", cpu="3")], decision(claim("a"))) == {Kind.LIMIT}


def test_min_values_are_kept() -> None:
    line = {**need("node.kubernetes.io/instance-type", "Exists"), "minValues": 2}

    assert kinds([pool("default", line), *PODS], decision(claim("a", "b", types=[SMALL, LARGE]))) == set()
    assert kinds([pool("default", line), *PODS], decision(claim("a", "b"))) == {Kind.MIN_VALUES}

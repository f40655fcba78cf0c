from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import INFLATE, PLAYED, treenail
from tests.adapters.embed.lived_cluster import of
from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text

GIVEN_BACK = ("rehearse", "-f", INFLATE, "--for", "15m", "--at", "5m", "scale=inflate:0", "--seed", "3")


@cache
def report(*arguments: str) -> dict[str, Any]:
    ran = treenail(*arguments, "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_json_has_the_parts_that_scripts_rely_on() -> None:
    found = report(*GIVEN_BACK)

    assert found.keys() == {"timeline", "nodes", "pods", "cost", "decisions", "summary", "traces"}
    [node] = found["nodes"]
    assert {"name", "instanceType", "zone", "capacityType", "nodePool"} <= node.keys()
    assert 0 < node["launchedAt"] < 300 < node["terminatedAt"] < 900
    assert (node["cause"], node["capacityType"], node["nodePool"]) == ("empty", "spot", "default")
    assert found["pods"] == []
    assert 0 < found["cost"] < 0.1
    [decision] = found["decisions"]
    assert re.fullmatch("[0-9a-f]{32}", decision["traceId"])
    assert decision["id"]


def test_the_timeline_is_in_order_and_names_domain_events() -> None:
    timeline = report(*GIVEN_BACK)["timeline"]

    assert [entry["at"] for entry in timeline] == sorted(entry["at"] for entry in timeline)
    events = list(dict.fromkeys(entry["event"] for entry in timeline if entry["event"] != "NodeInterrupted"))
    assert events == [
        "PodBecamePending",
        "BatchClosed",
        "PlanCommitted",
        "NodeLaunched",
        "NodeRegistered",
        "NodeInitialized",
        "PodBound",
        "Scaled",
        "NodeEmptied",
        "DisruptNodes",
        "NodeCordoned",
        "NodeDrained",
        "InstanceTerminated",
    ]


def test_what_is_still_there_at_the_end_has_no_end_and_no_cause() -> None:
    found = report("rehearse", "-f", INFLATE, "--for", "2m")

    [node] = found["nodes"]
    assert (node["terminatedAt"], node["cause"]) == (None, None)
    assert len(found["pods"]) == 5
    assert {(p["namespace"], p["phase"], p["node"]) for p in found["pods"]} == {
        ("default", "Running", node["name"])
    }


def test_pods_that_wait_have_no_node() -> None:
    found = report("rehearse", "-f", INFLATE, "--for", "5s")

    assert {(p["phase"], p["node"]) for p in found["pods"]} == {("Pending", None)}


def test_the_table_tells_what_happened_shows_the_trace_and_what_it_cost() -> None:
    ran = treenail(*GIVEN_BACK)

    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^ +33\d\.\d+  NodeDrained ", ran.out, re.MULTILINE)
    assert "└── decide" in ran.out
    assert "EC2/CreateFleet" in ran.out
    assert re.search(
        r"^0 pods, 0 running; 0 nodes; \$0\.\d{4} spent in 900 s of virtual time$", ran.out, re.MULTILINE
    )
    assert "\x1b[" not in ran.out


def test_equal_seeds_print_the_same_and_others_something_else() -> None:
    arguments = ("rehearse", "-f", INFLATE, "--for", "2m", "-o", "json", "--seed")

    assert treenail(*arguments, "1").out == treenail(*arguments, "1").out
    assert treenail(*arguments, "1").out != treenail(*arguments, "2").out


def timeline(*actions: str) -> list[dict[str, Any]]:
    """Return what is told when these actions are done in 12 minutes of the walkthrough."""
    arguments = [part for action in actions for part in ("--at", *action.split())]
    entries: list[dict[str, Any]] = report("rehearse", "-f", INFLATE, "--for", "12m", *arguments)["timeline"]
    return entries


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("3m spot-interruption", {"SpotInterruptionAnnounced", "NodeInterrupted", "InstanceTerminated"}),
        ("3m rebalance", {"RebalanceRecommended"}),
        ("3m terminate", {"TerminatedOutside", "InstanceTerminated"}),
        ("3m scale=default/inflate:40", {"Scaled"}),
        ("3m delete=Deployment/inflate", {"Deleted", "NodeEmptied", "InstanceTerminated"}),
        ("0s ice=*/us-east-1a", {"CapacityEnds"}),
        ("3m zone-lost=us-east-1a", {"ZoneLost", "CapacityEnds", "InstanceTerminated"}),
        ("3m api-away=30s", {"ApiServerAway"}),
        ("3s crash", {"ControllerKilled", "ControllerStarted"}),
        ("3s crash=1m", {"ControllerKilled", "ControllerStarted"}),
    ],
)
def test_what_is_done_at_a_time_is_told_with_what_follows(action: str, expected: set[str]) -> None:
    assert expected <= {entry["event"] for entry in timeline(action)}


def test_actions_are_done_in_the_order_of_their_times_however_they_are_written() -> None:
    entries = timeline("6m scale=inflate:0", "3m scale=inflate:7")

    assert [e["replicas"] for e in entries if e["event"] == "Scaled"] == [7, 0]


def test_what_is_applied_on_the_way_is_served_and_what_is_wrong_with_it_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "later.yaml"
    file.write_text(text(node_class(), node_pool("bad", weight=1000), deployment("later", 2)))

    ran = treenail("rehearse", "-f", INFLATE, "--for", "5m", "--at", "60s", f"apply={file}", "-o", "json")
    found = json.loads(ran.out)

    [aside] = [entry for entry in found["timeline"] if entry["event"] == "ObjectSetAside"]
    assert aside["object"] == "NodePool bad"
    assert aside["problem"] == "spec.weight: 1000 is not between 1 and 100"
    assert sum(pod["phase"] == "Running" for pod in found["pods"]) == 7


def test_what_is_accepted_but_not_acted_on_is_said_on_stderr(tmp_path: Path) -> None:
    pool = node_pool()
    pool["spec"]["replicas"] = 2
    file = tmp_path / "given.yaml"
    file.write_text(text(node_class(), pool))

    ran = treenail("rehearse", "-f", str(file), "--for", "1m", "-o", "json")

    assert ran.code == 0
    assert (
        "NodePool default: spec.replicas: is acted on only with FEATURE_GATES=StaticCapacity=true" in ran.err
    )
    assert json.loads(ran.out)["nodes"] == []


def test_what_a_setting_lets_be_acted_on_is_not_warned_of(tmp_path: Path) -> None:
    pool = node_pool()
    pool["spec"]["replicas"] = 2
    file = tmp_path / "given.yaml"
    file.write_text(text(node_class(), pool))

    gate = ("--setting", "FEATURE_GATES=StaticCapacity=true")
    ran = treenail("rehearse", "-f", str(file), "--for", "3m", "-o", "json", *gate)

    assert ran.code == 0
    assert "spec.replicas" not in ran.err
    assert len(json.loads(ran.out)["nodes"]) == 2


def test_help_and_version_go_to_stdout() -> None:
    for arguments in ([], ["--help"], ["rehearse", "--help"], ["--version"]):
        ran = treenail(*arguments)

        assert (ran.code, ran.err) == (0, "")
        assert "treenail" in ran.out.lower() or "Usage" in ran.out


def test_nodes_that_kwok_plays_cannot_be_rehearsed() -> None:
    ran = treenail("rehearse", "-f", PLAYED)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"treenail: {PLAYED}: KWOKNodeClass kwok: is for nodes that KWOK plays, and rehearsals have machines "
        "of EC2; `treenail simulate` decides for it\n"
    )


def _launched(*arguments: str) -> list[float]:
    options = ("--at", "0s", "scale=inflate:300", "--pod-writes", "20", "--for", "2m")
    found = report("rehearse", "-f", INFLATE, *options, *arguments)
    return sorted(node["launchedAt"] for node in found["nodes"])


def test_nodes_are_there_before_the_pods_unless_they_are_for_pods_alone() -> None:
    before, after = _launched(), _launched("--provision-for", "pods")

    # The last of 300 pods is made after more than 13 s.
    assert before[-1] < 6
    assert after[-1] > 13


def test_less_than_one_pod_a_second_is_refused() -> None:
    ran = treenail("rehearse", "-f", INFLATE, "--pod-writes", "0")

    assert ran.code == 2
    assert "--pod-writes" in ran.err


def test_what_is_applied_later_and_cannot_be_used_is_told_before_the_summary(tmp_path: Path) -> None:
    later = tmp_path / "later.yaml"
    later.write_text("{apiVersion: v1, kind: Pood, metadata: {name: x}}")

    ran = treenail("rehearse", "-f", INFLATE, "--for", "10s", "--at", "5s", f"apply={later}", "--quiet")

    assert ran.code == 0
    assert ran.err.startswith(f'treenail: warning: {later}: Pood x: kind: "Pood" is not known')
    assert ran.err.endswith("; nothing comes of this object when it is applied\n")


def test_a_node_class_of_auto_mode_can_be_changed_on_the_way(tmp_path: Path) -> None:
    auto = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
    pool = changed(node_pool(), "spec.template.spec.nodeClassRef", auto)
    file, later = tmp_path / "auto.yaml", tmp_path / "later.yaml"
    node_class_of = {
        "apiVersion": "eks.amazonaws.com/v1",
        "kind": "NodeClass",
        "metadata": {"name": "default"},
    }
    terms = {
        "subnetSelectorTerms": [{"tags": {"a": "b"}}],
        "securityGroupSelectorTerms": [{"tags": {"a": "b"}}],
    }
    file.write_text(text(pool, {**node_class_of, "spec": terms}, deployment("web", 1)))
    later.write_text(text(pool, {**node_class_of, "spec": {**terms, "tags": {"version": "2"}}}))

    ran = treenail("rehearse", "-f", str(file), "--for", "20m", "--at", "5m", f"apply={later}", "-o", "json")
    found = json.loads(ran.out)

    assert "ObjectSetAside" not in {entry["event"] for entry in found["timeline"]}
    assert [node["cause"] for node in found["nodes"]] == ["drifted", None]


def test_a_pool_of_a_fixed_size_that_lacks_nodes_is_in_the_summary_with_the_reason(tmp_path: Path) -> None:
    pool = node_pool(families=("zz",))
    pool["spec"]["replicas"] = 2
    file = tmp_path / "static.yaml"
    file.write_text(text(node_class(), pool))
    arguments = ("rehearse", "-f", str(file), "--for", "2m", "--setting", "FEATURE_GATES=StaticCapacity=true")

    [short] = report(*arguments)["summary"]["shortPools"]

    assert short == {
        "nodePool": "default",
        "nodes": 0,
        "wanted": 2,
        "reason": "nothing suitable is on offer any more",
    }
    ran = treenail(*arguments, "--quiet")
    assert "- default: 0 of 2 nodes: nothing suitable is on offer any more" in ran.out


def test_a_failure_is_told_of_the_pool_that_planned_the_claim(tmp_path: Path) -> None:
    static = node_pool("web", families=("zz",))
    static["spec"]["replicas"] = 1
    other = node_pool("web-eu-1", families=("m5",))
    file = tmp_path / "pools.yaml"
    file.write_text(text(node_class(), static, other, deployment(replicas=1)))
    arguments = ("rehearse", "-f", str(file), "--for", "2m", "--setting", "FEATURE_GATES=StaticCapacity=true")

    [short] = report(*arguments, "--at", "0s", "ice=*/*")["summary"]["shortPools"]

    assert (short["nodePool"], short["reason"]) == ("web", "nothing suitable is on offer any more")


def test_startup_taints_are_taken_off_and_the_summary_says_so(tmp_path: Path) -> None:
    startup = [{"key": "example.com/agent", "effect": "NoSchedule"}]
    pool = changed(node_pool(), "spec.template.spec.startupTaints", startup)
    file = tmp_path / "agents.yaml"
    file.write_text(text(node_class(), pool, deployment(replicas=3)))

    found = report("rehearse", "-f", str(file), "--for", "5m")

    at = {entry["event"]: entry["at"] for entry in found["timeline"]}
    assert at["NodeRegistered"] + 5 < at["TaintRemoved"] < at["NodeInitialized"]
    assert found["summary"]["running"] == 3
    assert found["summary"]["startupTaintsRemoved"] == {"example.com/agent": 1}
    told = "startup      taints were taken off, as by the agents they wait for: example.com/agent of 1 node"
    assert told in treenail("rehearse", "-f", str(file), "--for", "5m", "--quiet").out


def test_a_pool_that_has_its_nodes_lacks_none(tmp_path: Path) -> None:
    pool = node_pool()
    pool["spec"]["replicas"] = 2
    file = tmp_path / "static.yaml"
    file.write_text(text(node_class(), pool))
    arguments = ("rehearse", "-f", str(file), "--for", "5m", "--setting", "FEATURE_GATES=StaticCapacity=true")

    assert report(*arguments)["summary"]["shortPools"] == []


def test_reservations_that_nobody_declares_are_warned_of(tmp_path: Path) -> None:
    chosen = node_class()
    chosen["spec"]["capacityReservationSelectorTerms"] = [{"id": "cr-0123456789abcdef0"}]
    declared = of(
        "treenail.sh/v1alpha1",
        "Account",
        "mine",
        spec={
            "capacityReservations": [
                {
                    "id": "cr-0123456789abcdef0",
                    "instanceType": "m5.large",
                    "zone": "us-east-1a",
                    "instances": 1,
                }
            ]
        },
    )
    file = tmp_path / "reserved.yaml"

    file.write_text(text(chosen, node_pool()))
    told = (
        "EC2NodeClass default: spec.capacityReservationSelectorTerms: selects none: an object of kind Account"
    )
    assert told in treenail("simulate", "-f", str(file)).err
    file.write_text(text(chosen, node_pool(), declared))
    assert "capacityReservationSelectorTerms" not in treenail("simulate", "-f", str(file)).err

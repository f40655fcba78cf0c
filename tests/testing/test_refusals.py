"""Misspellings and impossible values: each is refused, with what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail.adapters.api.manifests import ManifestError
from treenail.testing import (
    ClusterFaults,
    ClusterSettings,
    Conditions,
    EC2Faults,
    EC2Settings,
    InstanceType,
    NodeLaunched,
    NotFoundError,
    Rehearsal,
    SystemSettings,
    trace_text,
)


def crash_twice(rehearsal: Rehearsal) -> None:
    for _ in range(2):
        rehearsal.crash()


def in_use(rehearsal: Rehearsal, *arguments: Any) -> tuple[Any, ...]:
    rehearsal.apply(text(node_class(), node_pool(), deployment("web", 3)))
    return arguments


ACCOUNT: Final = """apiVersion: treenail.sh/v1alpha1
kind: Account
metadata: {name: mine}
spec: {}
"""
Case = tuple[Callable[[Rehearsal], object], str]
CASES: Final[dict[str, Case]] = {
    "a type": (lambda r: r.run_out("c5.lrage", "*"), "did you mean c5.large?"),
    "a zone": (lambda r: r.run_out("*", "us-eats-1a"), "did you mean us-east-1a?"),
    "a type and zone in the wrong order": (lambda r: r.run_out("us-east-1a", "c5.large"), "no instance type"),
    "a family": (lambda r: r.run_out("c55.*", "*"), "no family of instance types c55; did you mean c5"),
    "a zone to lose": (lambda r: r.lose_zone("us-eats-1a"), "did you mean us-east-1a?"),
    "all zones to lose": (lambda r: r.lose_zone("*"), "name one zone"),
    "a capacity type": (lambda r: r.ec2.outside.run_out("*", "*", "sopt"), "on-demand, reserved, spot"),
    "a type to limit": (lambda r: r.ec2.outside.limit("m5.lrage", "*", most=1), "did you mean m5.large?"),
    "a type to restock": (lambda r: r.ec2.outside.restock("m5.lrage"), "did you mean m5.large?"),
    "a type's memory": (lambda r: r.ec2.set_memory("m5.lrage", 2**30), "did you mean m5.large?"),
    "a zone id": (lambda r: r.shift_away("use1-az22", "1h"), "did you mean use1-az2?"),
    "a shift from a zone without subnets": (
        lambda r: r.shift_away("use1-az1", "1h"),
        "there is no 'use1-az1'; did you mean use1-az",
    ),
    "a shift that nothing heeds": (lambda r: r.shift_away("use1-az2", "1h"), "Conditions(zonal_shifts=True)"),
    "a value for a condition": (lambda r: r.run_until(r.running() == 3), "run_until: False is no function"),  # type: ignore[arg-type]
    "time back": (lambda r: r.run(-5), "-5 is negative"),
    "time back in text": (lambda r: r.run("-5s"), "'-5s' is negative"),
    "no time": (lambda r: r.run(float("nan")), "nan is not a number of seconds"),
    "endless time": (lambda r: r.run(float("inf")), "inf is not a number of seconds"),
    "a duration": (lambda r: r.run("5min"), "'5min' is not a duration, such as 90s or 5m"),
    "no duration": (lambda r: r.run(""), "'' is not a duration"),
    "a deadline": (lambda r: r.run_until(lambda: True, within="soon"), "within: 'soon' is not a duration"),
    "a late start in the past": (lambda r: r.restart(after=-1), "restart: "),
    "a restart without a crash": (lambda r: r.restart(), "the controller runs: crash() it first"),
    "a crash of what is down": (crash_twice, "down already: restart() it first"),
    "a message that nobody is told": (
        lambda r: r.expect_none(InstanceType, during="1m"),
        "expect_none: no actor is ever told InstanceType",
    ),
    "a spell": (lambda r: r.ec2_under("throtled", "1m"), "did you mean throttled?"),
    "a spell's length": (lambda r: r.ec2_under("slow", -1), "-1 is negative"),
    "an outage": (lambda r: r.api_server_away("-1m"), "'-1m' is negative"),
    "a queue's outage": (lambda r: r.queue_gone(float("nan")), "nan is not a number"),
    "a clock": (lambda r: r.step_clock("1hour"), "'1hour' is not a duration"),
    "a cluster's clock": (lambda r: r.step_cluster_clock(float("inf")), "inf is not a number"),
    "a kind to delete": (
        lambda r: r.delete("Deploymnt", "web"),
        "'Deploymnt'; did you mean Deployment?",
    ),
    "a node class's kind": (lambda r: r.delete("EC2NodeClas", "default"), "did you mean EC2NodeClass?"),
    "a kind to scale": (lambda r: r.scale("web", 1, kind="StatefulSets"), "did you mean StatefulSet?"),
    "a workload": (lambda r: r.scale(*in_use(r, "webb", 1)), "default/webb is not there; did you mean web?"),
    "another workload": (lambda r: r.scale(*in_use(r, "api", 1)), "default/api is not there: there are web"),
    "a family without its dot": (lambda r: r.run_out("c5*", "*"), "type c5*; did you mean c5.*?"),
    "no observer": (lambda _: Conditions(observer=3), "observer: 3 is no Ref"),  # type: ignore[arg-type]
    "no actor": (
        lambda _: Rehearsal(conditions=Conditions(actor=lambda _: None)),  # type: ignore[arg-type, return-value]
        "actor: what it returned: None is no Ref: it has no method tell",
    ),
    "a taint": (lambda r: r.untaint("example.com/agent"), "untaint: taint: there is no 'example.com/agent'"),
    "a node to untaint": (lambda r: r.untaint("team", "ip-1"), "untaint: node: there is no 'ip-1'"),
    "an account that is applied": (
        lambda r: r.apply(ACCOUNT),
        "it counts from the start, in a file of -f or as Conditions(account=...)",
    ),
    "an account's region": (
        lambda _: Conditions(account=ACCOUNT.replace("{}", "{region: us-eats-1}")),
        "account: nothing is known of the region 'us-eats-1'",
    ),
    "an account's field": (
        lambda _: Conditions(account=ACCOUNT.replace("{}", "{capacityReservation: []}")),
        "did you mean capacityReservations?",
    ),
    "an account beside a pool": (
        lambda _: Conditions(account=f"{ACCOUNT}---\n{text(node_class())}"),
        "account: write one object of kind: Account",
    ),
    "conditions in a dict": (
        lambda _: Rehearsal(conditions={"seed": 1}),  # type: ignore[arg-type]
        "conditions: {'seed': 1} is no Conditions",
    ),
    "an object to delete": (
        lambda r: r.delete(*in_use(r, "Deployment", "webb")),
        "Deployment default/webb is not there; did you mean web?",
    ),
    "a file's name as text": (
        lambda r: r.apply("deployment.yaml"),
        "deployment.yaml: is read as the text of manifests: for a file, write Path('deployment.yaml')",
    ),
    "a trace's tree": (lambda r: r.telemetry.tree("abc"), "there is no trace abc: decisions()"),
    "no quiet": (lambda r: r.settle(0), "settle: quiet: say for how long"),
    "a node to interrupt": (lambda r: r.interrupt("ip-1"), "there is no spot node ip-1"),
    "a fault": (
        lambda _: EC2Faults(answer_losst=0.5),  # type: ignore[call-arg]
        "EC2Faults has no field answer_losst; did you mean answer_lost?",
    ),
    "a fault of the cluster": (
        lambda _: ClusterFaults(conflicts=0.5),  # type: ignore[call-arg]
        "did you mean conflict?",
    ),
    "a condition": (lambda _: Conditions(setings={}), "did you mean settings?"),  # type: ignore[call-arg]
    "a setting": (
        lambda _: Conditions(settings={"CONSOLIDATON": "off"}),
        "settings: there is no setting CONSOLIDATON; did you mean CONSOLIDATION?",
    ),
    "what a setting is": (
        lambda _: Conditions(settings={"CONSOLIDATION": "of"}),
        "CONSOLIDATION: 'of' is none of on, plan, off",
    ),
    "a setting's type": (
        lambda _: Conditions(settings={"EARLY_BINDING": True}),  # type: ignore[dict-item]
        "EARLY_BINDING: True is no text",
    ),
    "a setting about the outside": (
        lambda _: Conditions(settings={"KUBECONFIG": "x"}),
        "KUBECONFIG changes nothing where no cluster and no AWS is asked",
    ),
    "settings twice": (
        lambda _: Conditions(
            system=SystemSettings(cluster_name="demo", early_binding=True), settings={"CONSOLIDATION": "off"}
        ),
        "give settings or system, not both",
    ),
    "a system setting's type": (
        lambda _: Conditions(system=SystemSettings(cluster_name="demo", consolidation="off")),  # type: ignore[arg-type]
        "SystemSettings: consolidation: 'off' is no ConsolidationRules or None",
    ),
    "no conditions of the system": (
        lambda _: Conditions(system="demo"),  # type: ignore[arg-type]
        "Conditions: system: 'demo' is no SystemSettings",
    ),
    "a start without a time zone": (
        lambda _: Conditions(start=datetime(2026, 5, 4)),  # noqa: DTZ001
        "start: 2026-05-04 00:00:00 has no time zone",
    ),
    "a probability above 1": (lambda _: EC2Faults(shortage=5), "shortage: 5 is no probability"),
    "a probability below 0": (lambda _: ClusterFaults(conflict=-0.1), "conflict: -0.1 is no probability"),
    "no probability": (lambda _: EC2Faults(slow=float("nan")), "slow: nan is no number"),
    "no alias": (lambda r: r.publish_image(None), "there are no images None: there are "),  # type: ignore[arg-type]
    "no type": (lambda r: r.run_out(None, "*"), "there is no instance type None"),  # type: ignore[arg-type]
    "a zone without subnets": (
        lambda r: r.lose_zone("us-east-1d"),
        "there are no subnets in the zone us-east-1d, but in us-east-1a, us-east-1b, us-east-1c",
    ),
    "a type in a zone without subnets": (
        lambda r: r.run_out("m5.large", "us-east-1f"),
        "there are no subnets in the zone us-east-1f",
    ),
    "a price in a zone without subnets": (
        lambda r: r.ec2.outside.set_spot_price("m5.large", "us-east-1d", 0.1),
        "there are no subnets in the zone us-east-1d",
    ),
    "a family for a type": (lambda r: r.restock("m5"), "no instance type m5; did you mean m5.*?"),
    "a pattern that is none": (lambda r: r.run_out("*.large", "*"), "*.large; a family is written c5.*"),
    "no zone": (lambda r: r.restock("*", 5), "there is no zone 5"),  # type: ignore[arg-type]
    "a flag for seconds": (
        lambda _: Conditions(untainted_after=True),
        "untainted_after: True is no number of seconds",
    ),
    "a percentage": (lambda _: ClusterFaults(unavailable=50), "unavailable: 50 is no probability"),
    "text for a probability": (lambda _: EC2Faults(slow="0.5"), "slow: '0.5' is no number"),  # type: ignore[arg-type]
    "a rate": (lambda _: EC2Faults(spot_interruption=-1), "spot_interruption: -1 must not be negative"),
    "a span": (lambda _: EC2Faults(slow_seconds=(30, 5)), "has the larger number first"),
    "a quota": (lambda _: ClusterFaults(pod_quota=-1), "pod_quota: -1 is no count"),
    "how long a boot lasts": (lambda _: EC2Settings(boot=(-20, 40)), "boot: (-20, 40) must not be negative"),
    "a latency": (lambda _: ClusterSettings(latency=(0.2, 0.1)), "latency: (0.2, 0.1) has the larger"),
    "a metric": (
        lambda r: r.telemetry.counted("karpenter_nodeclaims_craeted_total"),
        "is declared; did you mean karpenter_nodeclaims_created_total?",
    ),
    "a label": (
        lambda r: r.telemetry.counted("karpenter_nodeclaims_created_total", nodpool="x"),
        "has no label nodpool; did you mean nodepool?",
    ),
    "a histogram as a counter": (
        lambda r: r.telemetry.counted("karpenter_pods_startup_duration_seconds"),
        "not a counter",
    ),
    "a counter as a histogram": (
        lambda r: r.telemetry.observed("karpenter_nodeclaims_created_total"),
        "is a counter, not a histogram",
    ),
    "the beginning of a metric": (
        lambda r: r.telemetry.counted("treenail_consolidation_saved"),
        "did you mean treenail_consolidation_saved_dollars_per_hour_total?",
    ),
    "a gauge": (lambda r: r.telemetry.gauged("typo"), "no metric typo is declared"),
    "a shown gauge": (
        lambda r: r.telemetry.shown("karpenter_nodes_alocatable"),
        "did you mean karpenter_nodes_allocatable?",
    ),
    "replicas": (
        lambda r: r.apply(text(changed(deployment(), "spec.replcas", 3))),
        'spec.replcas: "replcas" is not a known field; did you mean replicas?',
    ),
    "tolerations": (
        lambda r: r.apply(text(changed(deployment(), "spec.template.spec.toleratons", []))),
        "did you mean tolerations?",
    ),
    "a field of a pool": (
        lambda r: r.apply(text(node_class(), changed(node_pool(), "spec.weigth", 1))),
        "did you mean weight?",
    ),
    "a kind to apply": (
        lambda r: r.apply(text({**deployment(), "kind": "Deploymnt"})),
        '"Deploymnt" is not known; did you mean Deployment?',
    ),
    "an actor": (
        lambda r: r.expect_none(NodeLaunched, during="1m", to="NodeLifecyle"),
        "did you mean NodeLifecycle?",
    ),
    "a message in text": (lambda r: r.crash_at("NodeLaunched"), "no class of messages"),  # type: ignore[arg-type]
    "a value for an invariant": (lambda r: r.always(r.running() == 0), "no function"),  # type: ignore[arg-type]
    "a trace": (lambda r: trace_text(r, "0" * 32), "there is no trace 0000"),
    "a crash in the past": (lambda r: r.crash_at(step=0), "a step yet to come"),
    "no failure": (lambda r: r.fail("launch", times=0), "count from 1"),
    "a call": (lambda r: r.fail("create_clam"), "did you mean create_claim?"),
    "a file to apply": (lambda r: r.apply(Path("no-such.yaml")), "no-such.yaml: there is no such file"),
}


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    with Rehearsal(seed=1) as rehearsal:
        yield rehearsal


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_cannot_be_meant_is_refused_with_what_was(rehearsal: Rehearsal, case: Case) -> None:
    call, says = case

    with pytest.raises((TypeError, ValueError, ManifestError, NotFoundError)) as caught:
        call(rehearsal)

    assert says in str(caught.value)


def test_there_are_more_than_forty() -> None:
    assert len(CASES) >= 40


def test_durations_are_taken_as_text_and_as_seconds_everywhere() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.ec2_under("slow", "90s")
        rehearsal.queue_gone("1m")
        rehearsal.api_server_away("30s")
        rehearsal.step_clock("-1h")
        rehearsal.step_cluster_clock("5s")
        rehearsal.crash()
        rehearsal.restart(after="20s")
        rehearsal.run(90)

        told = {entry.event: entry for entry in rehearsal.timeline.entries}
        assert told["SpellBegan"].fields == {"spell": "slow", "seconds": 90.0}
        assert told["ControllerStarted"].at == 20


def test_an_account_in_a_file_that_is_applied_is_set_aside_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.yaml"
    path.write_text(ACCOUNT)
    with Rehearsal() as rehearsal:
        decoded = rehearsal.apply_file(path)

        [told] = [entry for entry in rehearsal.timeline.entries if entry.event == "ObjectSetAside"]
    assert "Account mine" in str(told.fields["object"])
    assert "Conditions(account=...)" in str(told.fields["problem"])
    assert [error.problem for error in decoded.set_aside] == [told.fields["problem"]]


def test_what_apply_file_does_not_know_is_set_aside_and_the_rest_applied(tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    wrong: tuple[dict[str, Any], ...] = (
        {**deployment("typo"), "kind": "Deploymnt"},
        changed(deployment("wrong"), "spec.replcas", 3),
    )
    path.write_text(text(node_class(), node_pool(), *wrong, deployment("web", 2)))
    with Rehearsal(seed=1) as rehearsal:
        decoded = rehearsal.apply_file(path)
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        aside = [e.fields["object"] for e in rehearsal.timeline.entries if e.event == "ObjectSetAside"]
        assert aside == ["Deploymnt typo", "Deployment wrong"]
        assert [error.object for error in decoded.set_aside] == aside


def test_why_pods_wait_stands_in_the_error_of_run_until() -> None:
    narrow = changed(deployment("web", 2), "spec.template.spec.nodeSelector", {"disk": "ssd"})
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), narrow))

        with pytest.raises(AssertionError, match=r"default/web-\S+ and 1 more: .*disk"):
            rehearsal.run_until(lambda: rehearsal.running() == 2, within="2m")

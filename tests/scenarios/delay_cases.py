"""Causes of delay to inject into a rehearsal, and the span whose event must name each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.scenarios.manifests import (
    KEPT,
    WAITING_CLASS,
    Manifest,
    changed,
    deployment,
    node_class,
    text,
    with_claims,
)
from tests.scenarios.watching import told
from treenail.adapters.embed import Rehearsal
from treenail.adapters.fake.cluster import ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults, EC2Settings, Spell
from treenail.adapters.fake.queue import NAME, QueueFaults
from treenail.adapters.fake.telemetry import RecordingTelemetry

NOBODY_LEAVES: Final[Manifest] = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "web"},
    "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
}


@dataclass(frozen=True, kw_only=True)
class DelayCase:
    """What is injected, and what the trace must say of it.

    `inject` is called once `at` (an event of the timeline) was told; at the start without one. The event
    `delay` on a span called `span` must have the `cause`, name `what`, and last `seconds` at least.
    """

    name: str
    inject: Callable[[Rehearsal], object]
    span: str
    cause: str
    what: str = ""
    seconds: float = 0.0
    at: str = ""
    ends: Callable[[Rehearsal], object] | None = None
    conditions: Mapping[str, object] = field(default_factory=dict)
    work: tuple[Manifest, ...] = (deployment(),)
    run: str = "8m"


def in_turn(*steps: Callable[[Rehearsal], object]) -> Callable[[Rehearsal], None]:
    """Return what does one after the other."""

    def all_of_them(rehearsal: Rehearsal) -> None:
        for step in steps:
            step(rehearsal)

    return all_of_them


def spell(which: Spell, seconds: float) -> Callable[[Rehearsal], object]:
    return lambda rehearsal: rehearsal.ec2_under(which, seconds)


def api_away(seconds: float) -> Callable[[Rehearsal], object]:
    return lambda rehearsal: rehearsal.api_server_away(seconds)


def nothing(_: Rehearsal) -> None:
    """Leave it to the conditions."""


def gone(rehearsal: Rehearsal) -> None:
    """Have the pods go, so that the node is empty."""
    rehearsal.scale("web", 0)


def node_deleted(rehearsal: Rehearsal) -> None:
    """Have somebody delete the node, with its pods on it."""
    rehearsal.delete("Node", rehearsal.nodes()[0].name)


def crashed(rehearsal: Rehearsal) -> None:
    rehearsal.crash()
    rehearsal.restart(after=60)


def out_of_capacity(rehearsal: Rehearsal) -> None:
    rehearsal.run_out("*", "*")


def late_notice(rehearsal: Rehearsal) -> None:
    """Have the end of a spot node announced, by a message that is received half a minute later."""
    rehearsal.queue.faults = QueueFaults(late=1.0, late_seconds=(30.0, 35.0))
    rehearsal.interrupt()


class SlowCollector(RecordingTelemetry):
    """Telemetry whose spans are never exported in the time that somebody waits for it."""

    def flush(self, seconds: float) -> bool:
        del seconds
        return False


def bought_and_hidden(rehearsal: Rehearsal) -> None:
    """Have a call's answer get lost, and its instances be hidden, while the call cannot be made again."""
    rehearsal.ec2_under(Spell.HIDDEN, 60)
    rehearsal.ec2_under(Spell.ANSWERS_LOST, 10)
    rehearsal.run_until(lambda: bool(rehearsal.ec2.live()), within="5s")
    rehearsal.crash()
    rehearsal.apply(text(changed(node_class(), "spec.tags", {"team": "blue"})))
    rehearsal.restart(after=5)


CASES: Final = (
    DelayCase(
        name="EC2 is away for 40 s when a node is to be bought",
        at="PlanCommitted",
        inject=spell(Spell.AWAY, 40),
        span="launch",
        cause="no_answer",
        what="EC2/",
        seconds=30,
    ),
    DelayCase(
        name="EC2 throttles for 40 s when a node is to be bought",
        at="PlanCommitted",
        inject=spell(Spell.THROTTLED, 40),
        span="launch",
        cause="throttled",
        what="EC2/",
        seconds=30,
    ),
    DelayCase(
        name="EC2 takes 5 to 30 s for each call",
        at="PlanCommitted",
        inject=spell(Spell.SLOW, 60),
        span="launch",
        cause="slow_answer",
        what="EC2/",
        seconds=5,
    ),
    DelayCase(
        name="CreateFleet is slow",
        at="PlanCommitted",
        inject=spell(Spell.SLOW, 60),
        span="EC2/CreateFleet",
        cause="slow_answer",
        what="EC2/CreateFleet",
        seconds=5,
    ),
    DelayCase(
        name="answers of EC2 get lost",
        at="PlanCommitted",
        inject=spell(Spell.ANSWERS_LOST, 20),
        span="launch",
        cause="no_answer",
        what="EC2/CreateFleet",
        seconds=10,
    ),
    DelayCase(
        name="answers of EC2 get lost for so long that calls are held back",
        at="PlanCommitted",
        inject=spell(Spell.ANSWERS_LOST, 150),
        span="launch",
        cause="circuit_breaker",
        what="EC2/CreateFleet",
        seconds=5,
    ),
    DelayCase(
        name="EC2 has no capacity",
        at="PlanCommitted",
        inject=out_of_capacity,
        span="launch",
        cause="no_capacity",
        what="EC2/CreateFleet",
    ),
    DelayCase(
        name="the API server is away for 30 s when the claim is to be written",
        at="PlanCommitted",
        inject=api_away(30),
        span="launch",
        cause="no_answer",
        what="Kubernetes/create claim",
        seconds=20,
    ),
    DelayCase(
        name="the API server is slow",
        inject=nothing,
        conditions={"cluster": ClusterSettings(latency=(1.5, 2.0))},
        span="launch",
        cause="slow_answer",
        what="Kubernetes/",
        seconds=2,
    ),
    DelayCase(
        name="somebody else writes onto the claim first",
        inject=nothing,
        conditions={"cluster_faults": ClusterFaults(conflict=0.7)},
        span="launch",
        cause="conflict",
        what="Kubernetes/patch claim",
    ),
    DelayCase(
        name="the controller is killed when a node is to be bought",
        at="PlanCommitted",
        inject=in_turn(lambda rehearsal: rehearsal.run("0.5s"), crashed),
        span="launch",
        cause="restart",
        what="controller",
        seconds=50,
    ),
    DelayCase(
        name="EC2 does not say what can be bought",
        inject=spell(Spell.AWAY, 40),
        span="select",
        cause="no_answer",
        what="EC2/DescribeInstanceTypes",
    ),
    DelayCase(
        name="EC2 is slow to say what can be bought",
        inject=spell(Spell.SLOW, 40),
        span="select",
        cause="slow_answer",
        what="EC2/DescribeInstanceTypes",
        seconds=4,
    ),
    DelayCase(
        name="pods wait as their pool cannot buy",
        inject=spell(Spell.AWAY, 40),
        span="decide",
        cause="pod_refused",
        what="PoolNotReady",
        seconds=20,
    ),
    DelayCase(
        name="pods wait as their node could not be bought",
        at="PlanCommitted",
        inject=in_turn(
            lambda rehearsal: rehearsal.run_out("*", "*"),
            lambda rehearsal: rehearsal.run("20s"),
            lambda rehearsal: rehearsal.ec2.outside.restock(),
        ),
        span="decide",
        cause="claim_failed",
        what="insufficient_capacity",
    ),
    DelayCase(
        name="a decision waits for another",
        inject=in_turn(
            lambda rehearsal: rehearsal.ec2_under(Spell.SLOW, 60),
            lambda rehearsal: rehearsal.run("3s"),
            lambda rehearsal: rehearsal.scale("web", 6),
        ),
        span="decide",
        cause="other_decision",
        seconds=1,
    ),
    DelayCase(
        name="the machine takes two minutes to join",
        inject=nothing,
        conditions={"ec2": EC2Settings(boot=(115.0, 125.0))},
        span="register",
        cause="node_joins",
        what="i-",
        seconds=100,
    ),
    DelayCase(
        name="the node is not ready for a minute",
        inject=nothing,
        conditions={"cluster": ClusterSettings(ready=(60.0, 70.0))},
        span="initialize",
        cause="node_not_usable",
        what="NodeNotReady",
        seconds=50,
    ),
    DelayCase(
        name="the API server does not answer now and then when the node joins",
        inject=nothing,
        conditions={"cluster_faults": ClusterFaults(unavailable=0.7)},
        span="register",
        cause="no_answer",
        what="Kubernetes/",
        run="15m",
    ),
    DelayCase(
        name="a budget lets no pod go",
        at="PodBound",
        inject=node_deleted,
        ends=lambda rehearsal: rehearsal.delete("PodDisruptionBudget", "web"),
        work=(deployment(), NOBODY_LEAVES),
        span="drain",
        cause="disruption_budget",
        what="default/web-",
        seconds=60,
    ),
    DelayCase(
        name="pods may not be disrupted",
        at="PodBound",
        inject=node_deleted,
        ends=gone,
        work=(deployment(annotations=KEPT),),
        span="drain",
        cause="do_not_disrupt",
        what="default/web-",
        seconds=60,
    ),
    DelayCase(
        name="pods wait for their new node to be ready",
        at="PodBound",
        inject=lambda rehearsal: rehearsal.interrupt(),
        span="drain",
        cause="replacement",
        what="default/web-",
        seconds=20,
    ),
    DelayCase(
        name="pods take their time to stop",
        at="PodBound",
        inject=node_deleted,
        conditions={"cluster": ClusterSettings(slow_stops=1.0)},
        work=(deployment(grace_seconds=200),),
        span="drain",
        cause="pod_stops",
        what="default/web-",
        seconds=35,
    ),
    DelayCase(
        name="volumes are not detached",
        at="PodBound",
        inject=node_deleted,
        conditions={"cluster": ClusterSettings(detach=(40.0, 50.0))},
        work=(WAITING_CLASS, with_claims(deployment())),
        span="drain",
        cause="volumes",
        seconds=20,
    ),
    DelayCase(
        name="the API server is away when a node is to be cordoned",
        at="PodBound",
        inject=in_turn(
            gone,
            lambda rehearsal: rehearsal.run_until(lambda: bool(told(rehearsal, "NodeEmptied"))),
            lambda rehearsal: rehearsal.run("29s"),
            lambda rehearsal: rehearsal.api_server_away(40),
        ),
        span="cordon",
        cause="no_answer",
        what="Kubernetes/patch node",
        seconds=20,
    ),
    DelayCase(
        name="EC2 is away for 40 s when an instance is to go",
        at="PodBound",
        inject=in_turn(
            gone,
            lambda rehearsal: rehearsal.run_until(lambda: bool(told(rehearsal, "NodeDrained"))),
            lambda rehearsal: rehearsal.ec2_under(Spell.AWAY, 40),
        ),
        span="terminate",
        cause="no_answer",
        what="EC2/TerminateInstances",
        seconds=30,
    ),
    DelayCase(
        name="EC2 throttles when an instance is to go",
        at="PodBound",
        inject=in_turn(
            gone,
            lambda rehearsal: rehearsal.run_until(lambda: bool(told(rehearsal, "NodeDrained"))),
            lambda rehearsal: rehearsal.ec2_under(Spell.THROTTLED, 40),
        ),
        span="terminate",
        cause="throttled",
        what="EC2/TerminateInstances",
        seconds=30,
    ),
    DelayCase(
        name="the answer to the termination gets lost",
        at="PodBound",
        inject=gone,
        conditions={"ec2_faults": EC2Faults(terminate_lost=0.9)},
        span="terminate",
        cause="no_answer",
        what="EC2/TerminateInstances",
    ),
    DelayCase(
        name="an instance takes two minutes to shut down",
        at="PodBound",
        inject=gone,
        conditions={"ec2": EC2Settings(shutdown=(120.0, 130.0))},
        span="terminate",
        cause="instance_stops",
        what="i-",
        seconds=100,
    ),
    DelayCase(
        name="an interruption's message is 30 s late",
        at="PodBound",
        inject=late_notice,
        span=f"receive {NAME}",
        cause="queue",
        what=NAME,
        seconds=25,
    ),
    DelayCase(
        name="the collector takes no spans of the decision in time",
        inject=nothing,
        conditions={"telemetry": SlowCollector()},
        span="launch",
        cause="trace_export",
        what="OTLP/Export",
    ),
    DelayCase(
        name="what a call bought whose answer was lost is not listed, and its node class changed meanwhile",
        at="PlanCommitted",
        inject=bought_and_hidden,
        span="launch",
        cause="instance_hidden",
        what="EC2/",
    ),
)

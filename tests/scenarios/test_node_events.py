"""The events that people find beside claims and nodes."""

from __future__ import annotations

from tests.scenarios.watching import example
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.events import ClusterEvent


def told(rehearsal: Rehearsal, *kinds: str) -> list[tuple[str, str, str]]:
    """Return (kind, reason, message) of the events about objects of these kinds, in order."""
    events = [record.event for record in rehearsal.cluster.events()]
    return [(e.about.kind, e.reason, e.message) for e in events if e.about.kind in kinds]


def test_a_machine_tells_its_milestones_and_why_it_goes() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("001-inflate"))
        rehearsal.run("5m")
        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")

        moved = "Status condition transitioned, Type: Machine{0}, Status: Unknown -> True, Reason: {0}"
        milestones = ("Initialized", "Launched", "Registered")
        assert sorted(told(rehearsal, "Machine", "Node")) == [
            ("Machine", "DisruptionTerminating", "Disrupting Machine: Empty"),
            *(("Machine", f"Machine{name}", moved.format(name)) for name in milestones),
            ("Node", "DisruptionTerminating", "Disrupting Node: Empty"),
        ]


def test_an_interrupted_node_and_its_claim_tell_what_ec2_said() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("002-spot"))
        rehearsal.run("5m")
        rehearsal.interrupt()
        rehearsal.run("5m")

        warned = [event for event in told(rehearsal, "Node", "NodeClaim") if "Interrupt" in event[1]]
        said = "EC2 warned that it takes the spot instance back"
        assert sorted(warned) == [
            ("Node", "SpotInterrupted", said),
            ("Node", "TerminatingOnInterruption", "The warning ends the Node"),
            ("NodeClaim", "SpotInterrupted", said),
            ("NodeClaim", "TerminatingOnInterruption", "The warning ends the NodeClaim"),
        ]


def test_a_claim_that_ec2_has_no_capacity_for_tells_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.run_out("c5.xlarge", "*")
        rehearsal.apply(example("001-node-selector"))
        rehearsal.run("1m")

        said = [e[2] for e in told(rehearsal, "Machine") if e[1] == "InsufficientCapacityError"]
        assert said
        assert all("InsufficientInstanceCapacity" in message for message in said)


def test_after_a_restart_old_news_is_not_told_again() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("001-inflate"))
        rehearsal.run("5m")
        before: list[ClusterEvent] = [
            r.event for r in rehearsal.cluster.events() if r.event.about.kind == "Machine"
        ]

        rehearsal.crash()
        rehearsal.restart()
        rehearsal.run("3m")

        after = [r.event for r in rehearsal.cluster.events() if r.event.about.kind == "Machine"]
        assert after == before

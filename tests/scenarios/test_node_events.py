"""The events that people find beside claims and nodes."""

from __future__ import annotations

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import example
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.events import ClusterEvent


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
        every = sorted(told(rehearsal, "Machine", "Node"))
        ended = [event for event in every if event[1] == "Ended"]
        why = ended[0][2]
        assert ended == [("Machine", "Ended", why), ("Node", "Ended", why)]
        assert why.startswith("Ended: empty, by emptiness of Disruptor; ")
        in_use = 'Provisioner "default" has consolidation policy WhenEmpty, but node is not empty'
        assert [event for event in every if event[1] != "Ended"] == [
            ("Machine", "DisruptionBlocked", "Nodeclaim does not have an associated node"),
            ("Machine", "DisruptionTerminating", "Disrupting Machine: Empty"),
            ("Machine", "Finalized", "Finalized karpenter.sh/termination"),
            *(("Machine", f"Machine{name}", moved.format(name)) for name in milestones),
            ("Machine", "Ready", moved.format("Ready").replace("Type: Machine", "Type: ")),
            ("Machine", "Unconsolidatable", in_use),
            ("Node", "DisruptionBlocked", "Node isn't initialized"),
            ("Node", "DisruptionTerminating", "Disrupting Node: Empty"),
            ("Node", "Unconsolidatable", in_use),
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


def drifting(rehearsal: Rehearsal, *, at_once: str = "1", annotations: dict[str, str] | None = None) -> None:
    """Let a pool of one node with one pod say something else."""
    made, pods = node_pool(), deployment(replicas=1, annotations=annotations)
    made["spec"]["disruption"]["budgets"] = [{"nodes": at_once}]
    rehearsal.apply(text(node_class(), made, pods))
    rehearsal.run("3m")
    made["spec"]["template"]["metadata"] = {"labels": {"generation": "two"}}
    rehearsal.apply(text(made))
    rehearsal.run("12m")


def test_a_drifted_node_and_its_replacement_tell_how_far_they_are() -> None:
    with Rehearsal(seed=1) as rehearsal:
        drifting(rehearsal)

        [old] = [record.claim for record in rehearsal.history() if record.terminated_at is not None]
        [new] = [claim.name for claim in rehearsal.claims()]
        by_claim = {
            (e.about.name, e.reason, e.message)
            for e in (record.event for record in rehearsal.cluster.events())
            if e.about.kind == "NodeClaim" and e.reason.startswith("Disruption")
        }
        moved = "Status condition transitioned, Type: DisruptionReason, Status: Unknown -> True"
        assert by_claim == {
            (old, "DisruptionTerminating", "Disrupting NodeClaim: Drifted"),
            (old, "DisruptionReason", f"{moved}, Reason: Drifted, Message: Drifted"),
            *((one, "DisruptionBlocked", "Nodeclaim does not have an associated node") for one in (old, new)),
            (new, "DisruptionLaunching", "Launching NodeClaim: Drifted"),
            (new, "DisruptionWaitingReadiness", "Waiting on readiness to continue disruption"),
        }


def test_a_pool_whose_budget_lets_no_drifted_node_go_tells_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        drifting(rehearsal, at_once="0")

        message = "No allowed disruptions for disruption reason Drifted due to blocking budget"
        blocked = [event for event in told(rehearsal, "NodePool") if event[1] == "DisruptionBlocked"]
        assert set(blocked) == {("NodePool", "DisruptionBlocked", message)}


def test_a_drifted_node_with_a_pod_that_is_kept_tells_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        drifting(rehearsal, annotations={"karpenter.sh/do-not-disrupt": "true"})

        begins = 'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/'
        blocked = {event for event in told(rehearsal, "Node", "NodeClaim") if event[2].startswith(begins)}
        assert {event[:2] for event in blocked} == {
            ("Node", "DisruptionBlocked"),
            ("NodeClaim", "DisruptionBlocked"),
        }

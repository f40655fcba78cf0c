from __future__ import annotations

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.simulation.rival import Rival
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import Change
from treenail.domain.model.pods import Pod
from treenail.domain.telemetry import metrics


def pool_that_keeps_empty_nodes() -> tuple[Manifest, ...]:
    return node_class(), node_pool(consolidate_after="Never")


def deleted_pods(rehearsal: Rehearsal) -> list[str]:
    """Return a list that pods (less those of DaemonSets) are added to as they are deleted."""
    gone: list[str] = []

    def note(change: Change) -> None:
        if change.after is None and isinstance(change.before, Pod) and not change.before.daemon:
            gone.append(change.before.key)

    rehearsal.cluster.on_change(note)
    return gone


def doubled(seed: int) -> bool:
    """Let two controllers decide for the same pod; return whether both bought, and see it given back."""
    with Rehearsal(seed=seed) as rehearsal:
        Rival(rehearsal, seed=seed)
        gone = deleted_pods(rehearsal)
        rehearsal.apply(text(*pool_that_keeps_empty_nodes()))
        rehearsal.run(5)
        rehearsal.apply(text(deployment(replicas=1)))
        rehearsal.run("90s")
        twice = len(rehearsal.claims()) > 1

        rehearsal.run("8m")

        assert len(rehearsal.claims()) == len(rehearsal.nodes()) == len(rehearsal.ec2.live()) == 1
        assert rehearsal.running() == 1
        assert not gone
        assert twice == (rehearsal.telemetry.counted(metrics.NODES_BOUGHT_TWICE.name) > 0)
        return twice


def test_what_both_bought_is_given_back_without_touching_a_pod() -> None:
    assert sum(doubled(seed) for seed in range(6)) >= 1


def test_a_pool_that_keeps_empty_nodes_keeps_those_that_were_bought_once() -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(*pool_that_keeps_empty_nodes(), deployment(replicas=3)))
        rehearsal.run_until(lambda: rehearsal.running() == 3, within="3m")
        rehearsal.scale("web", 0)

        rehearsal.run("30m")

        assert len(rehearsal.nodes()) == 1


def test_that_another_controller_decides_is_said() -> None:
    with Rehearsal(seed=1) as rehearsal:
        Rival(rehearsal, seed=1)
        rehearsal.apply(text(node_class(), node_pool()))
        rehearsal.run("3m")
        rehearsal.apply(text(deployment(replicas=3)))
        rehearsal.run("2m")

        assert rehearsal.telemetry.counted(metrics.OTHER_CONTROLLERS.name) > 0
        assert [r for r in rehearsal.cluster.events() if r.event.reason == "OtherControllerSeen"]
        assert [line for line in rehearsal.telemetry.logs if "another controller" in line.message]


def test_a_controller_that_was_there_before_is_no_other_one() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool()))
        for replicas in range(3, 30, 3):
            rehearsal.apply(text(deployment(replicas=replicas, cpu="3")))
            rehearsal.run(1.3)
            rehearsal.crash()
            rehearsal.restart()
            rehearsal.run("150s")

        assert rehearsal.telemetry.counted(metrics.OTHER_CONTROLLERS.name) == 0

from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.simulation.witness import Witness
from treenail.adapters.embed.rehearsal import Rehearsal


def watched(healthy: int = 0) -> tuple[Rehearsal, Witness]:
    """Return a rehearsal in which three pods run, and who watches it."""
    rehearsal = Rehearsal(seed=1)
    witness = Witness(rehearsal, {"web": healthy})
    rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=3, grace_seconds=5)))
    rehearsal.run_until(lambda: rehearsal.running() == 3)
    witness.check()
    return rehearsal, witness


def test_the_witness_sees_a_machine_that_goes_with_its_pods() -> None:
    rehearsal, witness = watched()
    with rehearsal:
        rehearsal.terminate_outside()

        with pytest.raises(AssertionError, match="the machine of ip-"):
            witness.check()


def test_the_witness_sees_too_few_healthy_pods() -> None:
    rehearsal, witness = watched(healthy=3)
    with rehearsal:
        rehearsal.scale("web", 2)
        rehearsal.run("1m")

        with pytest.raises(AssertionError, match="web has 2 healthy pods and needs 3"):
            witness.check()


def test_the_witness_sees_a_pod_that_is_given_no_time() -> None:
    rehearsal, witness = watched()
    with rehearsal:
        pod = rehearsal.pods()[0]
        rehearsal.cluster.delete_pod(pod.namespace, pod.name, uid=pod.uid, grace_seconds=0)

        with pytest.raises(AssertionError, match=f"{pod.key} was gone at once"):
            witness.check()


def test_pods_that_are_given_their_time_are_not_wronged() -> None:
    rehearsal, witness = watched(healthy=2)
    with rehearsal:
        rehearsal.scale("web", 2)
        rehearsal.run("1m")

        witness.check()

from __future__ import annotations

import pytest

from tests.adapters.fake.cluster.builders import a_claim, a_deployment, a_node, a_pod, a_pool, join
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.fake.cluster import Change, ClusterFaults
from treenail.domain.model.errors import ConflictError, UnavailableError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.patches import ClaimPatch, NodePatch


def test_another_writer_may_be_first_so_that_a_version_no_longer_holds() -> None:
    rig = Rig(faults=ClusterFaults(conflict=1.0))
    claim = rig.cluster.create_claim(a_claim("c-0"))

    with pytest.raises(ConflictError):
        rig.cluster.patch_claim("c-0", ClaimPatch(labels={"a": "1"}), version=claim.resource_version)

    now = rig.cluster.get_claim("c-0")
    assert now.resource_version == claim.resource_version + 1
    assert now.labels == {}
    rig.cluster.faults = ClusterFaults()
    patched = rig.cluster.patch_claim("c-0", ClaimPatch(labels={"a": "1"}), version=now.resource_version)
    assert patched.labels == {"a": "1"}


def test_without_a_precondition_another_writer_does_not_matter() -> None:
    rig = Rig(faults=ClusterFaults(conflict=1.0))
    rig.cluster.apply(a_node("n-0"))
    before = rig.node("n-0").resource_version

    patched = rig.cluster.patch_node("n-0", NodePatch(labels={"a": "1"}))

    assert patched.labels == {"a": "1"}
    assert patched.resource_version == before + 2


def test_a_write_whose_answer_is_lost_is_done_all_the_same() -> None:
    rig = Rig(faults=ClusterFaults(answer_lost=1.0))

    with pytest.raises(UnavailableError):
        rig.cluster.create_claim(a_claim("c-0"))

    assert [claim.name for claim in rig.cluster.list_claims()] == ["c-0"]


def test_an_error_comes_through_as_what_it_is() -> None:
    rig = Rig(faults=ClusterFaults(answer_lost=1.0))
    rig.cluster.apply(a_pod("web"))

    with pytest.raises(ConflictError):
        rig.cluster.delete_pod("default", "web", uid="another", grace_seconds=0)


def test_a_call_that_does_not_get_through_does_nothing() -> None:
    rig = Rig(faults=ClusterFaults(unavailable=1.0))
    rig.cluster.apply(a_node("n-0"), a_pod("web"), a_pool("default"))
    pod, before = rig.pod("web"), rig.cluster.revision
    about = ObjectRef("NodePool", "default")
    calls = (
        lambda: rig.cluster.create_claim(a_claim("c-0")),
        lambda: rig.cluster.patch_claim("c-0", ClaimPatch()),
        lambda: rig.cluster.delete_claim("c-0", uid="any"),
        lambda: rig.cluster.patch_node("n-0", NodePatch(unschedulable=True)),
        lambda: rig.cluster.delete_node("n-0", uid=rig.node("n-0").uid),
        lambda: rig.cluster.evict_pod("default", "web", uid=pod.uid),
        lambda: rig.cluster.delete_pod("default", "web", uid=pod.uid, grace_seconds=0),
        lambda: rig.cluster.bind_pod("default", "web", uid=pod.uid, node="n-0"),
        lambda: rig.cluster.publish(ClusterEvent(about, "Reason", "message")),
        lambda: rig.cluster.set_conditions(about, (Condition("Ready", Status.TRUE),)),
        lambda: rig.cluster.get_claim("c-0"),
        rig.cluster.list_claims,
    )

    for call in calls:
        with pytest.raises(UnavailableError):
            call()

    assert rig.cluster.revision == before
    assert rig.cluster.events() == ()


def test_the_server_may_be_away_until_a_time() -> None:
    rig = Rig()
    rig.cluster.unavailable_until(30.0)
    rig.run(29.9)
    with pytest.raises(UnavailableError):
        rig.cluster.list_claims()

    rig.run(0.1)

    assert rig.cluster.list_claims() == ()


def test_what_users_do_meets_no_faults() -> None:
    rig = Rig(faults=ClusterFaults(unavailable=1.0, answer_lost=1.0, conflict=1.0))
    rig.cluster.apply(a_node("n-0"), a_deployment("inflate", 1))
    rig.cluster.scale("inflate", 2)

    rig.run(10)

    assert [pod.ready for pod in rig.cluster.pods()] == [True, True]


def test_about_as_many_calls_fail_as_were_meant_to() -> None:
    rig = Rig(faults=ClusterFaults(unavailable=0.25))
    failed = 0
    for _ in range(1_000):
        try:
            rig.cluster.list_claims()
        except UnavailableError:
            failed += 1

    assert 200 < failed < 300


def test_calls_take_a_time_within_what_was_set() -> None:
    rig = Rig()

    times = [seconds for _ in range(100) for seconds in rig.cluster.latency(("kubernetes", "claim"))]

    assert len(set(times)) == 200
    assert all(0.002 <= seconds <= 0.02 for seconds in times)


def test_faults_change_nothing_but_what_they_touch() -> None:
    def history(faults: ClusterFaults) -> list[str]:
        rig = Rig(seed=3, faults=faults)
        told: list[str] = []

        def note(change: Change) -> None:
            told.append(f"{rig.agenda.monotonic()} {change.address} {change.revision}")

        rig.cluster.on_change(note)
        join(rig, "n-0")
        rig.cluster.apply(a_deployment("inflate", 3))
        rig.watched()
        rig.run(60)
        return told

    quiet = history(ClusterFaults())
    assert len(quiet) > 10
    assert quiet == history(ClusterFaults(unavailable=0.5, watch_drop=0.5, watch_delay_seconds=9.0))

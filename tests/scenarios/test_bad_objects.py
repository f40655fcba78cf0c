from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster.event_log import EventRecord
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Status, holds

POOL = ObjectRef(kind="NodePool", name="broken")


def heavy(name: str) -> Manifest:
    """Return a pool whose weight says something wrong."""
    return node_pool(name, weight=101)


def events(rehearsal: Rehearsal, kind: str) -> list[EventRecord]:
    return [record for record in rehearsal.cluster.events() if record.event.about.kind == kind]


def warnings(rehearsal: Rehearsal, kind: str) -> list[str]:
    return [
        record.event.message
        for record in rehearsal.cluster.events()
        if record.event.reason == "FailedValidation" and record.event.about.kind == kind
    ]


def apply(rehearsal: Rehearsal, path: Path, *manifests: Manifest) -> None:
    path.write_text(text(*manifests))
    rehearsal.apply_file(str(path))


def test_a_bad_pool_says_what_is_wrong_with_it_and_the_good_one_goes_on_serving(tmp_path: Path) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        rehearsal.run("2m")
        apply(rehearsal, tmp_path / "bad.yaml", heavy("broken"), deployment("more", 4))

        rehearsal.run("3m")

        condition, ready = rehearsal.cluster.conditions(POOL)
        assert (condition.type, condition.status) == ("ValidationSucceeded", Status.FALSE)
        assert (ready.type, ready.status) == ("Ready", Status.FALSE)
        assert holds(rehearsal.cluster.conditions(replace(POOL, name="default")), "Ready")
        assert condition.message == "spec.weight: 101 is not between 1 and 100"
        assert warnings(rehearsal, "NodePool") == [condition.message]
        assert told(rehearsal, "ObjectSetAside")[0].fields["object"] == "NodePool broken"
        assert rehearsal.running() == 6
        assert {record.node_pool for record in rehearsal.history()} == {"default"}
        assert rehearsal.telemetry.counted("treenail_objects_set_aside_total", kind="NodePool") == 1


def test_what_was_wrong_before_the_controller_came_is_told_too_and_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text(node_class(), heavy("broken")))
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply_file(path)

        rehearsal.run("30m")

        [aside], [applied] = told(rehearsal, "ObjectSetAside"), told(rehearsal, "Applied")
        assert aside.fields["object"] == "NodePool broken"
        assert applied.fields == {"file": str(path)}


def test_a_pool_put_right_serves_and_says_that_all_is_well(tmp_path: Path) -> None:
    with Rehearsal(seed=2) as rehearsal:
        apply(rehearsal, tmp_path / "bad.yaml", node_class(), heavy("broken"), deployment(replicas=2))
        rehearsal.run("2m")
        assert rehearsal.history() == ()

        rehearsal.apply(text(node_pool("broken")))
        rehearsal.run("3m")

        conditions = rehearsal.cluster.conditions(POOL)
        shown = {"ValidationSucceeded", "NodeClassReady", "Ready", "NodeRegistrationHealthy"}
        assert {c.type for c in conditions} == shown
        assert all(c.status is Status.TRUE for c in conditions)
        assert rehearsal.running() == 2


def test_a_good_pool_that_is_changed_for_the_worse_stays_in_use_as_it_was(tmp_path: Path) -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool("broken"), deployment(replicas=1)))
        rehearsal.run("2m")
        apply(rehearsal, tmp_path / "bad.yaml", heavy("broken"))
        rehearsal.run("10s")

        rehearsal.scale("web", 12)
        rehearsal.run("3m")

        assert warnings(rehearsal, "NodePool") == ["spec.weight: 101 is not between 1 and 100"]
        assert rehearsal.running() == 12


def test_a_bad_node_class_says_so_and_costs_only_its_own_pools(tmp_path: Path) -> None:
    wrong = node_class("other")
    wrong["spec"]["subnetSelectorTerms"] = []
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        apply(rehearsal, tmp_path / "bad.yaml", wrong)

        rehearsal.run("3m")

        condition, _ = rehearsal.cluster.conditions(ObjectRef(kind="EC2NodeClass", name="other"))
        assert condition.reason == "NodeClassValidationFailed"
        assert warnings(rehearsal, "EC2NodeClass") == [condition.message]
        assert rehearsal.running() == 2


def test_a_pool_without_its_node_class_says_so_until_that_is_there(tmp_path: Path) -> None:
    with Rehearsal(seed=6) as rehearsal:
        apply(rehearsal, tmp_path / "alone.yaml", node_pool("broken"), deployment(replicas=2))
        rehearsal.run("1m")

        _, of_class, ready = rehearsal.cluster.conditions(POOL)
        assert (of_class.status, of_class.reason) == (Status.FALSE, "NodeClassNotFound")
        assert of_class.message == "spec.template.spec.nodeClassRef: there is no EC2NodeClass default"
        assert (ready.status, ready.message) == (Status.FALSE, "NodeClassReady=False")
        assert [(r.event.reason, r.event.message) for r in events(rehearsal, "NodePool")] == [
            (of_class.reason, f"Failed resolving NodeClass: {of_class.message}")
        ]
        assert rehearsal.telemetry.counted("treenail_objects_set_aside_total", kind="NodePool") == 1

        rehearsal.apply(text(node_class()))
        rehearsal.run("3m")

        assert holds(rehearsal.cluster.conditions(POOL), "Ready")
        assert rehearsal.running() == 2
        assert [entry.fields["ready"] for entry in told(rehearsal, "ReadinessChanged")] == ["False", "True"]


def test_a_node_class_whose_selector_finds_nothing_says_which_until_it_does() -> None:
    nowhere = changed(node_class(), "spec.securityGroupSelectorTerms", [{"id": "sg-0123456789abcdef0"}])
    about = ObjectRef(kind="EC2NodeClass", name="default")
    with Rehearsal(seed=7) as rehearsal:
        rehearsal.apply(text(nowhere, node_pool("broken"), deployment(replicas=2)))
        rehearsal.run("1m")

        *_, valid, ready = rehearsal.cluster.conditions(about)
        assert (valid.reason, ready.status) == ("DependenciesNotReady", Status.FALSE)
        assert ready.reason == "SecurityGroupsNotFound"
        assert ready.message.startswith("spec.securityGroupSelectorTerms: its selector of security groups")
        assert not holds(rehearsal.cluster.conditions(POOL), "Ready")
        assert [r.event.reason for r in events(rehearsal, "EC2NodeClass")] == [ready.reason]

        rehearsal.apply(text(node_class()))
        rehearsal.run("3m")

        assert holds(rehearsal.cluster.conditions(about), "Ready")
        assert holds(rehearsal.cluster.conditions(POOL), "Ready")
        assert rehearsal.running() == 2


def test_an_idle_cluster_sees_no_status_written_twice() -> None:
    with Rehearsal(seed=8) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool("broken")))
        rehearsal.run("1m")
        revision = rehearsal.cluster.revision

        rehearsal.run("4h")

        assert rehearsal.cluster.revision == revision


def test_the_same_complaint_is_made_once_however_often_the_cluster_is_listed(tmp_path: Path) -> None:
    with Rehearsal(seed=5) as rehearsal:
        apply(rehearsal, tmp_path / "bad.yaml", node_class(), heavy("broken"))

        rehearsal.run("2h")

        events = [r for r in rehearsal.cluster.events() if r.event.reason == "FailedValidation"]
        assert [record.count for record in events] == [1]

from __future__ import annotations

from pathlib import Path

from tests.scenarios.manifests import Manifest, deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.events import ObjectRef
from treenail.domain.nodes import Status

POOL = ObjectRef(kind="NodePool", name="broken")


def heavy(name: str) -> Manifest:
    """Return a pool whose weight says something wrong."""
    return node_pool(name, weight=101)


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

        [condition] = rehearsal.cluster.conditions(POOL)
        assert (condition.type, condition.status) == ("ValidationSucceeded", Status.FALSE)
        assert condition.message == "spec.weight: 101 is not between 1 and 100"
        assert warnings(rehearsal, "NodePool") == [condition.message]
        assert told(rehearsal, "ObjectSetAside")[0].fields["object"] == "NodePool broken"
        assert rehearsal.running() == 6
        assert {record.node_pool for record in rehearsal.history()} == {"default"}
        assert rehearsal.telemetry.counted("treenail_objects_set_aside_total", kind="NodePool") == 1


def test_a_pool_put_right_serves_and_says_that_all_is_well(tmp_path: Path) -> None:
    with Rehearsal(seed=2) as rehearsal:
        apply(rehearsal, tmp_path / "bad.yaml", node_class(), heavy("broken"), deployment(replicas=2))
        rehearsal.run("2m")
        assert rehearsal.history() == ()

        rehearsal.apply(text(node_pool("broken")))
        rehearsal.run("3m")

        [condition] = rehearsal.cluster.conditions(POOL)
        assert condition.status is Status.TRUE
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

        [condition] = rehearsal.cluster.conditions(ObjectRef(kind="EC2NodeClass", name="other"))
        assert condition.reason == "NodeClassValidationFailed"
        assert warnings(rehearsal, "EC2NodeClass") == [condition.message]
        assert rehearsal.running() == 2


def test_the_same_complaint_is_made_once_however_often_the_cluster_is_listed(tmp_path: Path) -> None:
    with Rehearsal(seed=5) as rehearsal:
        apply(rehearsal, tmp_path / "bad.yaml", node_class(), heavy("broken"))

        rehearsal.run("2h")

        events = [r for r in rehearsal.cluster.events() if r.event.reason == "FailedValidation"]
        assert [record.count for record in events] == [1]

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tests.adapters.embed.lived_cluster import Manifest, lived_cluster, of
from tests.scenarios.manifests import deployment, node_class, text
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import parse_manifests
from treenail.adapters.api.workloads import Job
from treenail.adapters.cli.rehearsal_run import RehearsalRun, rehearsed
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.pods import Phase


@contextmanager
def after(seconds: float, things: Iterable[Manifest], **said: str) -> Iterator[Rehearsal]:
    manifests = parse_manifests(text(*things).encode(), "cluster.yaml")
    with rehearsed(RehearsalRun(manifests=manifests, seconds=seconds, said=said)) as rehearsal:
        yield rehearsal


def pods(rehearsal: Rehearsal) -> set[str]:
    return {pod.name for pod in rehearsal.cluster.pods()}


def test_what_was_there_goes_on_for_an_hour_and_nothing_is_bought() -> None:
    things = lived_cluster(3)
    expected = {thing["metadata"]["name"] for thing in things if thing["kind"] == "Pod"}

    with after(3600, things) as rehearsal:
        assert pods(rehearsal) == expected
        assert {node.name for node in rehearsal.nodes()} == {"node-0", "node-1", "node-2"}
        assert {claim.name for claim in rehearsal.claims()} == {"default-0", "default-1", "default-2"}
        assert [one.launched_at for one in rehearsal.history()] == [0.0, 0.0, 0.0]
        assert all(one.terminated_at is None for one in rehearsal.history())


def test_a_rehearsal_of_a_snapshot_begins_when_it_was_taken_and_nodes_are_as_old_as_they_were() -> None:
    with after(60, lived_cluster(1)) as rehearsal:
        assert rehearsal.world.now() == datetime(2026, 3, 2, 10, 1, tzinfo=UTC)
        assert rehearsal.claims()[0].created_at == datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_money_counts_from_the_start() -> None:
    with after(3600, lived_cluster(2)) as rehearsal:
        assert rehearsal.cost() == pytest.approx(2 * 0.096)


def test_a_job_is_finished_where_it_stood_and_one_that_ended_is_not_run_again() -> None:
    with after(600, lived_cluster(1)) as rehearsal:
        ended = {job.name: (job.succeeded, job.ended) for job in rehearsal.cluster.objects(Job)}
        assert ended == {"job": (3, "Complete"), "done": (3, "Complete")}
        [of_job] = [pod for pod in rehearsal.cluster.pods() if pod.name == "job-x"]
        assert of_job.phase is Phase.SUCCEEDED


def test_nodes_that_were_there_are_drained_and_replaced_like_any_other() -> None:
    with after(60, lived_cluster(2)) as rehearsal:
        lost = rehearsal.terminate_outside("node-1")
        rehearsal.run("10m")

        assert lost not in {node.name for node in rehearsal.nodes()}
        assert sum(pod.name.startswith("web-abc-") for pod in rehearsal.pods()) == 2
        assert all(pod.phase is not Phase.PENDING for pod in rehearsal.pods())


def test_an_instance_is_given_back_when_its_pods_are_gone() -> None:
    with after(60, lived_cluster(2)) as rehearsal:
        rehearsal.scale("web", 0)
        rehearsal.run("10m")

        # The first has pods of others.
        assert [node.name for node in rehearsal.nodes()] == ["node-0"]
        assert [one.cause for one in rehearsal.history()] == [None, "empty"]


def test_pods_that_are_added_beside_a_snapshot_get_nodes_of_their_own() -> None:
    with after(600, [*lived_cluster(1), deployment("more", cpu="1500m", replicas=2)]) as rehearsal:
        assert sum(pod.name.startswith("more-") for pod in rehearsal.pods()) == 2
        assert len(rehearsal.nodes()) > 1
        assert "web-abc-0" in pods(rehearsal)


def test_nodes_run_the_image_that_their_class_means_until_the_class_means_another() -> None:
    newer = node_class()
    newer["spec"]["amiSelectorTerms"] = [{"alias": "al2023@v20260301"}]

    with after(600, lived_cluster(1)) as rehearsal:
        assert rehearsal.claims()[0].drift is None
        rehearsal.apply(text(newer))
        rehearsal.run("10m")

        assert rehearsal.history()[0].cause == "drifted"


def test_a_second_account_is_an_error_that_names_the_first() -> None:
    accounts = [of("treenail.sh/v1alpha1", "Account", name, spec={}) for name in ("mine", "yours")]

    told = r"there is Account mine in cluster\.yaml already"
    with pytest.raises(ManifestError, match=told), after(1, accounts):
        pass

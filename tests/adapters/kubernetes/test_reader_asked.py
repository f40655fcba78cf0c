from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import replace

import pytest

from tests.adapters.kubernetes.objects import machine, meta, node, node_claim
from tests.adapters.kubernetes.rig import FAST, Rig
from tests.adapters.kubernetes.scripted import GONE, Reply, Tree, status
from treenail.adapters.kubernetes.resources import MACHINE, NODE, NODE_CLAIM, VOLUME_ATTACHMENT, Resource
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError, NotFoundError, UnavailableError
from treenail.domain.model.node_pools import Generation


def test_claims_are_found_whichever_generation_they_are_of() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_CLAIM, node_claim("b", 1))
        rig.server.serve(MACHINE, machine("a", 2))
        rig.server.answers(MACHINE.path("a"), Reply(body=json.dumps(machine("a", 2)).encode()))

        assert [(c.name, c.generation) for c in rig.reader.list_claims()] == [
            ("a", Generation.V1ALPHA5),
            ("b", Generation.V1),
        ]
        assert rig.reader.get_claim("a").resource_version == 2


def test_a_claim_that_is_of_no_generation_is_not_found() -> None:
    with Rig() as rig, pytest.raises(NotFoundError):
        rig.reader.get_claim("c-0")


@pytest.mark.parametrize("resource", [NODE_CLAIM, MACHINE])
@pytest.mark.parametrize("said", [{"providerID": "aws:///a/i-1", "capacity": {"cpu": "lots"}}, [], None])
def test_of_a_claim_that_cannot_be_understood_is_listed_what_says_which_instance_is_its_own(
    resource: Resource, said: object
) -> None:
    made: Tree = {"creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {labels.LAUNCH: "5f1e/0/x"}}
    tree = node_claim("c-0", 1) if resource is NODE_CLAIM else machine("c-0", 1)
    bad = {**tree, "metadata": {**tree["metadata"], **made}, "spec": {"unknown": 1}, "status": said}
    with Rig() as rig:
        rig.server.serve(resource, bad)

        [bare] = rig.reader.list_claims()

    assert (bare.name, bare.uid, bare.resource_version) == ("c-0", "uid-c-0", 1)
    assert bare.provider_id == ("aws:///a/i-1" if isinstance(said, dict) else "")
    assert str(LaunchMark.of(bare)) == "5f1e/0/x"


def test_a_claim_that_cannot_be_understood_is_invalid() -> None:
    bad = {**node_claim("c-0", 1), "spec": {}}
    with Rig() as rig:
        rig.server.serve(NODE_CLAIM, bad)
        rig.server.answers(NODE_CLAIM.path("c-0"), Reply(body=json.dumps(bad).encode()))

        with pytest.raises(InvalidError, match="NodeClaim c-0: spec"):
            rig.reader.get_claim("c-0")


def test_nodes_are_listed_by_name_page_after_page() -> None:
    with Rig(replace(FAST, page=2)) as rig:
        rig.server.serve(NODE, *(node(f"n-{n}", n + 1) for n in range(4, -1, -1)))

        assert [n.name for n in rig.reader.list_nodes()] == [f"n-{n}" for n in range(5)]


def test_claims_cannot_be_listed_while_the_server_is_in_trouble() -> None:
    with Rig() as rig:
        rig.server.lists(NODE_CLAIM, *[status(500)] * 4)

        with pytest.raises(UnavailableError):
            rig.reader.list_claims()


def test_claims_that_the_server_does_not_know_of_are_not_taken_for_none() -> None:
    with Rig() as rig:
        rig.server.lists(NODE_CLAIM, status(404, "NotFound"))
        rig.server.lists(MACHINE, status(404, "NotFound"))

        with pytest.raises(UnavailableError, match="nodeclaims and machines are not served: are the def"):
            rig.reader.list_claims()


@pytest.mark.parametrize(
    ("served", "missing", "claim"),
    [(NODE_CLAIM, MACHINE, node_claim("a", 1)), (MACHINE, NODE_CLAIM, machine("a", 1))],
)
@pytest.mark.parametrize("count", [0, 1])
def test_of_a_kind_that_is_not_served_beside_the_other_there_are_no_claims(
    served: Resource, missing: Resource, claim: Tree, count: int
) -> None:
    with Rig() as rig:
        rig.server.serve(served, *[claim][:count])
        rig.server.lists(missing, status(404, "NotFound"))

        assert [c.name for c in rig.reader.list_claims()] == ["a"][:count]


def test_claims_that_are_served_in_an_older_version_alone_are_not_taken_for_none() -> None:
    older = replace(NODE_CLAIM, api_version="karpenter.sh/v1beta1")
    with Rig() as rig:
        rig.server.serve(MACHINE, machine("a", 1))
        rig.server.lists(NODE_CLAIM, status(404, "NotFound"))
        rig.server.serve(older, {**node_claim("b", 2), "apiVersion": older.api_version})

        with pytest.raises(UnavailableError, match="apply deploy/crds"):
            rig.reader.list_claims()


def test_a_list_that_expires_while_it_is_read_is_no_answer() -> None:
    first = json.dumps({"metadata": {"resourceVersion": "1", "continue": "x"}, "items": []})
    with Rig() as rig:
        rig.server.lists(NODE, Reply(body=first.encode()), GONE)

        with pytest.raises(UnavailableError):
            rig.reader.list_nodes()


def attachment(number: int, node: str, volume: str | None) -> Tree:
    return {
        "metadata": {"name": f"csi-{number}", "uid": f"uid-{number}", "resourceVersion": str(number)},
        "spec": {
            "attacher": "ebs.csi.aws.com",
            "nodeName": node,
            "source": {"persistentVolumeName": volume} if volume else {"inlineVolumeSpec": {}},
        },
        "status": {"attached": True},
    }


def test_the_volumes_attached_to_a_node_are_told_by_name() -> None:
    there = [("n-0", "pv-a"), ("n-1", "pv-b"), ("n-0", "pv-c"), ("n-0", None)]
    with Rig(replace(FAST, page=2)) as rig:
        rig.server.serve(VOLUME_ATTACHMENT, *(attachment(n + 1, *where) for n, where in enumerate(there)))

        assert rig.reader.attached_volumes("n-0") == {"pv-a", "pv-c"}


def test_however_many_nodes_wait_for_their_volumes_one_list_and_one_watch_are_asked_for() -> None:
    with Rig() as rig:
        rig.server.serve(VOLUME_ATTACHMENT, *(attachment(n, f"n-{n}", f"pv-{n}") for n in range(1, 51)))

        told = [rig.reader.attached_volumes(f"n-{n}") for _ in range(3) for n in range(1, 51)]
        rig.server.watch(VOLUME_ATTACHMENT)

        assert told == [{f"pv-{n}"} for _ in range(3) for n in range(1, 51)]
        assert len(rig.server.requests(VOLUME_ATTACHMENT)) == 1
        assert len(rig.server.requests(VOLUME_ATTACHMENT, watch=True)) == 1


def wait_until_told(rig: Rig, node: str, volumes: set[str]) -> None:
    while rig.reader.attached_volumes(node) != volumes:
        rig.server.wait_for(VOLUME_ATTACHMENT, 1)


def test_that_a_volume_is_detached_or_attached_is_told_by_the_watch() -> None:
    with Rig() as rig:
        rig.server.serve(VOLUME_ATTACHMENT, attachment(1, "n-0", "pv-a"))
        assert rig.reader.attached_volumes("n-0") == {"pv-a"}
        watch = rig.server.watch(VOLUME_ATTACHMENT)

        watch.send("ADDED", attachment(7, "n-0", "pv-b"))
        wait_until_told(rig, "n-0", {"pv-a", "pv-b"})
        watch.send("DELETED", {**attachment(1, "n-0", "pv-a"), "metadata": meta("csi-1", 8, uid="uid-1")})
        wait_until_told(rig, "n-0", {"pv-b"})

        assert len(rig.server.requests(VOLUME_ATTACHMENT)) == 1


def test_attachments_are_watched_only_while_somebody_asks() -> None:
    with Rig(replace(FAST, linger=0.0)) as rig:
        rig.server.serve(VOLUME_ATTACHMENT, attachment(1, "n-0", "pv-a"))
        assert VOLUME_ATTACHMENT.path() not in [asked.path for asked in rig.server.asked]
        rig.reader.attached_volumes("n-0")
        rig.server.watch(VOLUME_ATTACHMENT).end()
        while any(thread.name == "kubernetes-drain" for thread in threading.enumerate()):
            rig.server.wait_for(VOLUME_ATTACHMENT, 1)
        rig.server.serve(VOLUME_ATTACHMENT)

        assert rig.reader.attached_volumes("n-0") == frozenset()
        assert len(rig.server.requests(VOLUME_ATTACHMENT)) == 2


def test_while_the_server_does_not_answer_nothing_is_said_of_volumes() -> None:
    with Rig(replace(FAST, first_pause=60.0, longest_pause=60.0)) as rig:
        rig.server.lists(VOLUME_ATTACHMENT, status(500, "InternalError", "no leader"))

        for _ in range(20):
            with pytest.raises(UnavailableError, match="no leader"):
                rig.reader.attached_volumes("n-0")

        assert len(rig.server.requests(VOLUME_ATTACHMENT)) == 1


def test_while_a_watch_is_interrupted_nothing_is_said_of_volumes_and_then_again() -> None:
    with Rig() as rig:
        rig.server.serve(VOLUME_ATTACHMENT, attachment(1, "n-0", "pv-a"))
        rig.reader.attached_volumes("n-0")
        watch = rig.server.watch(VOLUME_ATTACHMENT)
        mended = threading.Event()
        in_trouble = status(500, "InternalError", "no leader")
        rig.server.watches(VOLUME_ATTACHMENT, in_trouble, replace(in_trouble, held=mended))
        watch.end()
        rig.server.wait_for(VOLUME_ATTACHMENT, 3, watch=True)

        with pytest.raises(UnavailableError, match="no leader"):
            rig.reader.attached_volumes("n-0")
        mended.set()
        rig.server.watch(VOLUME_ATTACHMENT)
        while True:
            with contextlib.suppress(UnavailableError):
                assert rig.reader.attached_volumes("n-0") == {"pv-a"}
                break


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (404, "NotFound")])
def test_where_attachments_may_not_be_seen_there_are_none_and_it_is_not_asked_again_at_once(
    code: int, reason: str
) -> None:
    with Rig(replace(FAST, look_again=(60.0, 60.0), withheld=(60.0, 60.0))) as rig:
        rig.server.lists(VOLUME_ATTACHMENT, status(code, reason))

        assert {rig.reader.attached_volumes(f"n-{n}") for n in range(20)} == {frozenset()}
        assert len(rig.server.requests(VOLUME_ATTACHMENT)) == 1


def test_where_attachments_may_be_listed_but_not_watched_they_are_listed_now_and_then() -> None:
    with Rig() as rig:
        rig.server.serve(VOLUME_ATTACHMENT, attachment(1, "n-0", "pv-a"))
        rig.server.watches(VOLUME_ATTACHMENT, *[status(403, "Forbidden")] * 10_000)
        assert rig.reader.attached_volumes("n-0") == {"pv-a"}

        rig.server.serve(VOLUME_ATTACHMENT, attachment(7, "n-0", "pv-b"))

        wait_until_told(rig, "n-0", {"pv-b"})


def test_what_is_no_attachment_is_no_answer() -> None:
    with Rig() as rig:
        rig.server.serve(VOLUME_ATTACHMENT, {"metadata": {"name": "x", "resourceVersion": "1"}, "spec": 7})

        with pytest.raises(UnavailableError, match="cannot be read"):
            rig.reader.attached_volumes("n-0")

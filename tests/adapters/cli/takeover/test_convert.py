from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.adapters.controller.webhook.scripted import Server, definition_path
from treenail.adapters.cli.takeover.convert import Conversion
from treenail.adapters.kubernetes.definitions import CONVERTED
from treenail.adapters.kubernetes.errors import ForbiddenError, UnauthorizedError
from treenail.adapters.kubernetes.resources import NODE_CLAIM, NODE_POOL
from treenail.domain.model.errors import ConflictError, InvalidError, PortError, UnavailableError


@pytest.fixture
def server() -> Server:
    server = Server()
    for resource in CONVERTED:
        server.define(resource)
    server.define(NODE_POOL, stored=("v1beta1", "v1"))
    for name in ("a", "b"):
        server.put(NODE_POOL.path(name), a_pool())
    return server


def a_pool(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": NODE_POOL.api_version, "kind": "NodePool", "spec": spec}


def stored(server: Server) -> list[str]:
    found: list[str] = server.objects[definition_path(NODE_POOL)]["status"]["storedVersions"]
    return found


def convert(server: Server, to: str = "v1", *, dry_run: bool = False) -> bool:
    return Conversion(server, to, dry_run=dry_run, wait=lambda _: False).run()


def rewritten(server: Server) -> list[str]:
    return [path for _, path in server.writes if path.startswith(NODE_POOL.path())]


def test_what_is_stored_in_v1beta1_is_written_anew_and_noted(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(server)

    assert stored(server) == ["v1"]
    assert rewritten(server) == [NODE_POOL.path(n, subresource="status") for n in ("a", "b")]
    said = capsys.readouterr().out
    assert "nodepools.karpenter.sh: stored in v1beta1, v1; 2 written anew in v1\n" in said
    assert "nodeclaims.karpenter.sh: stored in v1 alone already\n" in said


def test_done_once_more_it_writes_nothing(server: Server) -> None:
    convert(server)
    server.writes.clear()

    assert convert(server)
    assert server.writes == []


def test_a_dry_run_has_each_write_checked_and_changes_nothing(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    before = dict(server.objects)
    assert convert(server, dry_run=True)

    assert (server.objects, server.writes) == (before, [])
    assert capsys.readouterr().out.splitlines()[2:4] == [
        "NodePool/a: can be stored in v1",
        "NodePool/b: can be stored in v1",
    ]
    server.refusals[NODE_POOL.path("a", subresource="status")] = [InvalidError("spec.weight: too much")]
    assert not convert(server, dry_run=True)
    said = capsys.readouterr().out
    assert "NodePool/a: cannot be stored in v1: spec.weight: too much\n" in said
    assert "1 would be written anew, 1 refused\n" in said


def test_a_dry_run_to_v1beta1_tries_the_conversion_of_each_object_and_says_what_only_an_annotation_keeps(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(server)
    term = {"terminationGracePeriod": "1h"}
    server.put(NODE_POOL.path("a"), a_pool(template={"spec": term}))
    server.put(NODE_POOL.path("b"), a_pool(template="none"))
    for number in range(12):
        server.put(NODE_POOL.path(f"p-{number}"), a_pool(disruption=3))
    server.put(NODE_POOL.path("z"), a_pool())
    server.writes.clear()
    capsys.readouterr()

    assert not convert(server, "v1beta1", dry_run=True)

    assert server.writes == []
    kept = "an annotation that only Treenail reads keeps spec.template.spec.terminationGracePeriod"
    said = capsys.readouterr().out.splitlines()
    assert f"NodePool/a: can be stored in v1beta1; {kept}" in said
    assert "NodePool/b: cannot be stored in v1beta1: NodePool b: spec.template: must be a mapping" in said
    assert "NodePool/z: can be stored in v1beta1" in said
    assert "nodepools.karpenter.sh: stored in v1; 2 would be written anew, 13 refused" in said


def test_a_dry_run_has_the_api_server_check_the_objects_in_the_version_they_would_be_stored_in(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(server)
    there = replace(NODE_POOL, api_version="karpenter.sh/v1beta1").path("a", subresource="status")
    server.refusals[there] = [InvalidError("spec.disruption: too many rules")]

    assert not convert(server, "v1beta1", dry_run=True)

    assert "NodePool/a: cannot be stored in v1beta1: spec.disruption: too many" in capsys.readouterr().out


def test_ended_in_the_middle_it_is_done_by_the_next_run(server: Server) -> None:
    def killed(method: str, path: str) -> None:
        if (method, path) == ("PATCH", NODE_POOL.path("b", subresource="status")):
            server.before = lambda _method, _path: None
            raise KeyboardInterrupt

    server.before = killed
    with pytest.raises(KeyboardInterrupt):
        convert(server)
    assert stored(server) == ["v1beta1", "v1"]

    assert convert(server)
    assert stored(server) == ["v1"]
    assert len(rewritten(server)) == 3


def test_objects_go_back_to_v1beta1_where_that_is_asked_for(server: Server) -> None:
    convert(server)

    assert convert(server, "v1beta1")

    definition = server.objects[definition_path(NODE_POOL)]
    assert definition["spec"]["versions"] == [
        {"name": "v1beta1", "storage": True},
        {"name": "v1", "storage": False},
    ]
    assert stored(server) == ["v1beta1"]
    assert len(rewritten(server)) == 4


def test_one_object_that_is_refused_leaves_the_old_version_noted(server: Server) -> None:
    server.refusals[NODE_POOL.path("a", subresource="status")] = [InvalidError("no")]

    assert not convert(server)

    assert stored(server) == ["v1beta1", "v1"]
    assert rewritten(server) == [NODE_POOL.path("b", subresource="status")]
    assert convert(server)


def test_where_many_are_refused_the_rest_waits(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        server.put(NODE_POOL.path(f"p-{number}"), {"spec": {}})
        server.refusals[NODE_POOL.path(f"p-{number}", subresource="status")] = [InvalidError("no")]

    assert not convert(server)

    assert capsys.readouterr().out.count("object not migrated") == 10


@pytest.mark.parametrize(
    "change",
    [
        {"versions": [{"name": "v1beta1", "storage": True}]},
        {"conversion": {"strategy": "None"}},
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {"url": "https://k/conversion/x"}},
            }
        },
    ],
    ids=["v1beta1 alone", "no webhook", "another webhook"],
)
def test_without_our_webhook_nothing_is_written_of_any_kind(
    server: Server, capsys: pytest.CaptureFixture[str], change: dict[str, Any]
) -> None:
    server.define(NODE_CLAIM, stored=("v1beta1",))
    path = definition_path(NODE_CLAIM)
    server.put(path, {**server.objects[path], "spec": {**server.objects[path]["spec"], **change}})
    server.writes.clear()

    assert not convert(server)

    assert server.writes == []
    assert "first apply the definitions of deploy/crds" in capsys.readouterr().out


def test_one_that_is_deleted_meanwhile_is_no_trouble(server: Server) -> None:
    def deleted(_method: str, path: str) -> None:
        if path == NODE_POOL.path("a", subresource="status"):
            server.objects.pop(NODE_POOL.path("a"), None)

    server.before = deleted

    assert convert(server)
    assert stored(server) == ["v1"]


def test_what_cannot_be_answered_for_a_while_is_tried_again(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    reinitializing = UnavailableError("storage is (re)initializing")
    server.refusals[NODE_POOL.path()] = [reinitializing] * 2
    server.refusals[definition_path(NODE_POOL)] = [ConflictError("it was changed")]
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    assert Conversion(server, "v1", dry_run=False, wait=wait).run_until_answered()

    assert stored(server) == ["v1"]
    assert capsys.readouterr().err.count("tried again: ") == 3
    assert len([one for one in pauses if one > 0.1]) == 3

    server.define(NODE_POOL, stored=("v1beta1", "v1"))
    server.refusals[NODE_POOL.path()] = [reinitializing] * 5
    with pytest.raises(UnavailableError):
        Conversion(server, "v1", dry_run=False, wait=wait).run_until_answered()


@pytest.mark.parametrize("refusal", [ForbiddenError("no right to list"), UnauthorizedError("token expired")])
def test_who_may_not_do_it_is_told_so_at_once(server: Server, refusal: PortError) -> None:
    server.refusals[NODE_POOL.path()] = [refusal]
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    with pytest.raises(type(refusal)):
        Conversion(server, "v1", dry_run=False, wait=wait).run_until_answered()

    assert [one for one in pauses if one == 1.0] == []


def test_nothing_is_noted_where_nobody_answers(server: Server) -> None:
    server.refusals[NODE_POOL.path()] = [UnavailableError("conversion webhook failed")]

    with pytest.raises(UnavailableError):
        convert(server)

    assert stored(server) == ["v1beta1", "v1"]

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.api_server import kubeconfig
from tests.adapters.cli.command import Ran, treenail
from tests.adapters.kubernetes.objects import node, node_claim, pod
from tests.adapters.kubernetes.scripted import Reply, ScriptedServer, status
from treenail.adapters.cli.explain import pod as explain_pod
from treenail.adapters.kubernetes.resources import EVENT, NODE, NODE_CLAIM, POD

VERSION = Reply(body=b'{"gitVersion": "v1.34.0"}')


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.serve_all()
        server.answers("/version", VERSION)
        for namespace in ("default", "other"):
            server.objects[EVENT.path(namespace=namespace)] = []
        yield server


@pytest.fixture
def config(server: ScriptedServer, tmp_path: Path) -> str:
    return kubeconfig(tmp_path, server.url)


def explained(config: str, *arguments: str) -> Ran:
    return treenail("explain", *arguments, "--kubeconfig", config, "-o", "json")


def says(config: str, *arguments: str) -> list[str]:
    ran = explained(config, *arguments)
    assert (ran.code, ran.complaint) == (0, "")
    return [one["says"] for one in json.loads(ran.out)["statements"]]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_no_line_is_wider_than_it(
    server: ScriptedServer, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {**event("Pod", "web"), "message": "of it and of more " * 9}
    server.objects[EVENT.path(namespace="default")] = [told]
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)

    with redirect_stdout(Terminal()) as out:
        explain_pod("default/web", kubeconfig=Path(config))

    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    assert sum("of it and of more" in line for line in lines) > 1
    assert "\x1b" not in out.getvalue()


def broken_claim() -> dict[str, Any]:
    claim = node_claim("c-0", 3)
    requirement = {"key": "team", "operator": "Fits", "values": ["a"]}
    return {**claim, "spec": {**claim["spec"], "requirements": [requirement]}}


def event(kind: str, name: str) -> dict[str, Any]:
    return {
        "involvedObject": {"kind": kind, "name": name, "namespace": "default"},
        "reason": "Told",
        "message": "of it",
        "lastTimestamp": "2026-11-22T03:00:00Z",
        "count": 1,
    }


def test_a_claim_that_is_not_understood_says_why(server: ScriptedServer, config: str) -> None:
    server.serve(NODE_CLAIM, broken_claim())

    statement, follows, *_ = says(config, "node", "c-0")

    assert statement.startswith('It is not understood: spec.requirements[0].operator: "Fits" is not one of')
    assert follows == "It is left alone until it is, or goes for a reason that is not ours."


def test_a_node_may_have_been_bought_for_a_claim_that_is_not_understood(
    server: ScriptedServer, config: str
) -> None:
    server.serve(NODE, node("n-0", 3))
    server.serve(NODE_CLAIM, broken_claim())

    statement = says(config, "node", "n-0")[0]

    assert statement == (
        "No NodeClaim that can be read stands for it, and not all can: whose it is is not known."
    )


def test_so_may_the_node_of_a_pod(server: ScriptedServer, config: str) -> None:
    server.serve(NODE, node("n-0", 3))
    server.serve(POD, bound("web", "n-0"))
    server.serve(NODE_CLAIM, broken_claim())

    assert says(config, "pod", "default/web")[0] == (
        "It is on node n-0, which no NodeClaim that can be read stands for."
    )


def bound(name: str, to: str) -> dict[str, Any]:
    tree = pod(name, 3)
    return {**tree, "spec": {**tree["spec"], "nodeName": to}}


def test_a_node_without_a_claim_was_not_bought(server: ScriptedServer, config: str) -> None:
    server.serve(NODE, node("n-0", 3))

    assert says(config, "node", "n-0")[0] == (
        "No NodeClaim stands for it: Treenail did not buy it, and leaves it alone."
    )


def test_a_pod_that_is_not_understood_says_why(server: ScriptedServer, config: str) -> None:
    tree = pod("web", 3)
    server.serve(POD, {**tree, "spec": {**tree["spec"], "priority": "high"}})

    statement, follows, *_ = says(config, "pod", "default/web")

    assert statement.startswith(
        'It is not understood: spec.priority: expected a whole number, got text "high"'
    )
    assert follows == "No node is bought for it."
    ran = explained(config, "pod", "other/web")
    assert ran.code == 2


@pytest.mark.parametrize("kind", ["Deployment", "Node"])
def test_events_about_other_kinds_do_not_tell_of_a_pod(
    server: ScriptedServer, config: str, kind: str
) -> None:
    server.objects[EVENT.path(namespace="default")] = [event(kind, "web")]

    ran = explained(config, "pod", "default/web")

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == "treenail: Pod default/web: is not there, and no event tells of it\n"


def test_events_about_other_kinds_do_not_tell_of_a_node(server: ScriptedServer, config: str) -> None:
    server.serve(EVENT, event("Deployment", "web"))

    assert explained(config, "node", "web").code == 2


def test_of_a_pod_that_is_gone_its_events_tell(server: ScriptedServer, config: str) -> None:
    server.objects[EVENT.path(namespace="default")] = [event("Pod", "web")]

    assert says(config, "pod", "default/web") == ["It is not there any more."]


NO_API_SERVER = "what answers GET /version is no API server"


@pytest.mark.parametrize("body", [b"<html>login</html>", b"[]", b'{"items": [1]}', b""])
def test_what_is_no_api_server_is_one_line(server: ScriptedServer, config: str, body: bytes) -> None:
    server.answers("/version", Reply(body=body))
    server._next["/version", False].popleft()

    ran = explained(config, "node", "n-0")

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == (f"treenail: the cluster cannot be read: {NO_API_SERVER}\n")


def test_who_may_not_ask_for_the_version_may_still_ask_for_the_rest(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        server.serve_all()
        server.answers("/version", status(403, "Forbidden"))
        server.serve(NODE, node("n-0", 3))

        assert says(kubeconfig(tmp_path, server.url), "node", "n-0")


def test_which_cluster_is_asked_is_said_once_without_what_the_kubeconfig_keeps_secret(
    server: ScriptedServer, config: str
) -> None:
    secret = "top-secret"  # noqa: S105
    file = Path(config)
    file.write_text(file.read_text().replace("http://", f"http://me:{secret}@"))
    server.serve(NODE, node("n-0", 3))

    ran = explained(config, "node", "n-0")

    assert ran.err == f'treenail: context "here", {server.url}\n'
    assert secret not in ran.out


def refused(plural: str) -> Reply:
    said = f'User "dev" cannot list resource "{plural}" in API group "" at the cluster scope'
    return status(403, "Forbidden", f"{plural} is forbidden: {said}")


def test_which_lists_are_forbidden_to_whom_is_said_at_once(server: ScriptedServer, config: str) -> None:
    for resource in (POD, NODE):
        server.lists(resource, *[refused(resource.plural)] * 20)

    ran = explained(config, "node", "n-0")

    assert (ran.code, ran.out) == (2, "")
    told = "; ".join(
        f"GET /api/v1/{plural}: {plural} is forbidden: "
        f'User "dev" cannot list resource "{plural}" in API group "" at the cluster scope (403)'
        for plural in ("nodes", "pods")
    )
    assert ran.complaint == f"treenail: the cluster cannot be read: {told}\n"


def test_what_may_be_listed_and_not_watched_is_told(server: ScriptedServer, config: str) -> None:
    server.serve(NODE, node("n-0", 3))
    server.watches(NODE, refused("nodes"))

    assert says(config, "node", "n-0")


@pytest.mark.parametrize("item", [1, {"involvedObject": 1}, {"lastTimestamp": 5}])
def test_events_that_are_none_are_one_line(server: ScriptedServer, config: str, item: Any) -> None:
    server.objects[EVENT.path(namespace="default")] = [item]

    ran = explained(config, "pod", "default/web")

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint.startswith("treenail: the events about web cannot be read: ")
    assert ran.complaint.count("\n") == 1


def test_where_nobody_listens_one_line_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        ran = explained(kubeconfig(tmp_path, url), "node", "n-0")

    assert (ran.code, ran.out) == (2, "")
    assert ran.complaint == (
        "treenail: the cluster cannot be read: GET /version: no connection to the API server\n"
    )

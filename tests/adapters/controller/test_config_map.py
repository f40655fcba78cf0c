from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.adapters.kubernetes.scripted import Reply, ScriptedServer, status
from treenail.adapters.controller.config_map import await_config_map, read_config_map
from treenail.adapters.settings.sources import Sources
from treenail.domain.model.errors import PortError, UnavailableError

PATH = "/api/v1/namespaces/{}/configmaps/karpenter-global-settings"


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as there:
        yield there


def sources(server: ScriptedServer, folder: Path, **environment: str) -> Sources:
    """Return settings that lead to the server."""
    kubeconfig = folder / "kubeconfig"
    tree = {
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    }
    kubeconfig.write_text(json.dumps(tree))
    return Sources({"KUBECONFIG": str(kubeconfig), **environment}, {})


def said(**data: str) -> Reply:
    return Reply(200, json.dumps({"kind": "ConfigMap", "data": data}).encode())


def test_it_is_read_from_the_namespace_that_is_named(server: ScriptedServer, tmp_path: Path) -> None:
    server.answers(PATH.format("karpenter"), said(batchIdleDuration="2s"))

    found = read_config_map(sources(server, tmp_path, SYSTEM_NAMESPACE="karpenter"))

    assert found == {"batchIdleDuration": "2s"}


def test_without_a_name_it_is_that_of_the_pod_and_without_a_pod_kube_system(
    server: ScriptedServer, tmp_path: Path
) -> None:
    account = tmp_path / "namespace"
    account.write_text("own\n")
    server.answers(PATH.format("own"), said(batchIdleDuration="2s"))
    server.answers(PATH.format("kube-system"), said(batchIdleDuration="3s"))
    settings = sources(server, tmp_path)

    assert read_config_map(settings, account=account) == {"batchIdleDuration": "2s"}
    assert read_config_map(settings, account=tmp_path / "none") == {"batchIdleDuration": "3s"}


@pytest.mark.parametrize("code", [403, 404])
def test_where_there_is_none_or_it_may_not_be_read_nothing_is_said(
    code: int, server: ScriptedServer, tmp_path: Path
) -> None:
    server.answers(PATH.format("a"), status(code))

    assert read_config_map(sources(server, tmp_path, SYSTEM_NAMESPACE="a")) == {}


def test_without_data_it_says_nothing(server: ScriptedServer, tmp_path: Path) -> None:
    server.answers(PATH.format("a"), Reply(200, b'{"kind": "ConfigMap"}'))

    assert read_config_map(sources(server, tmp_path, SYSTEM_NAMESPACE="a")) == {}


def test_any_other_answer_is_no_config_map_that_is_not_there(server: ScriptedServer, tmp_path: Path) -> None:
    server.answers(PATH.format("a"), status(400))

    with pytest.raises(PortError):
        read_config_map(sources(server, tmp_path, SYSTEM_NAMESPACE="a"))


def test_without_a_way_to_the_cluster_nothing_is_said(tmp_path: Path) -> None:
    assert read_config_map(Sources({"KUBECONFIG": str(tmp_path / "none")}, {})) == {}


def largest(_: float, most: float) -> float:
    return most


def test_an_api_server_that_does_not_answer_yet_is_asked_again() -> None:
    answers: Iterator[Mapping[str, str] | None] = iter([None, None, {"batchIdleDuration": "2s"}])
    paused: list[float] = []
    lines: list[str] = []

    def read() -> Mapping[str, str]:
        answer = next(answers)
        if answer is None:
            raise UnavailableError("GET /api: no connection")
        return answer

    found = await_config_map(read, say=lines.append, uniform=largest, sleep=paused.append)

    assert found == {"batchIdleDuration": "2s"}
    assert paused == [0.5, 1.0]
    assert lines == ["the settings cannot be read yet: GET /api: no connection"] * 2


def test_after_five_minutes_it_is_said_that_the_api_server_does_not_answer() -> None:
    paused: list[float] = []

    def read() -> Mapping[str, str]:
        raise UnavailableError("GET /api: no connection")

    with pytest.raises(UnavailableError):
        await_config_map(
            read, say=lambda _: None, uniform=largest, sleep=paused.append, monotonic=lambda: sum(paused)
        )

    assert 280 < sum(paused) <= 300

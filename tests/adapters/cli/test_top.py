from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.adapters.cli.api_server import kubeconfig
from tests.adapters.cli.command import treenail
from tests.adapters.cli.test_explain import VERSION
from tests.adapters.kubernetes.objects import node, node_claim, pod
from tests.adapters.kubernetes.scripted import ScriptedServer
from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.cli.top import shown
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.kubernetes.resources import NODE, NODE_CLAIM, POD
from treenail.domain.cluster.shown_state import StateShown, shown_state
from treenail.domain.explain.node_progress import Progress, progress_of
from treenail.domain.model.claim_prices import price_of


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        server.serve_all()
        server.answers("/version", VERSION)
        yield server


def rehearsed(seconds: str, *actions: str, pods: int = 3) -> StateShown:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", replicas=pods, cpu="250m")))
        rehearsal.run(seconds)
        if "delete" in actions:
            rehearsal.delete("NodeClaim", rehearsal.claims()[0].name)
            rehearsal.run("1s")
        return shown_state(rehearsal.system.model, rehearsal.world.now())


def printed(state: StateShown, most: int | None = None, width: int = 200) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(shown(state, most, width))
    return out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "progress"),
    [("4s", Progress.BOOTING), ("52s", Progress.STARTING), ("2m", Progress.READY)],
)
def test_a_node_is_shown_as_far_as_it_is(seconds: str, progress: Progress) -> None:
    state = rehearsed(seconds)

    assert [progress_of(one.view) for one in state.nodes] == [progress]
    assert progress.value in printed(state)


def test_pods_that_wait_are_shown_with_the_place_they_have() -> None:
    state = rehearsed("4s")

    out = printed(state)

    assert out.splitlines()[0].startswith("1 node  $0.")
    assert "0 pods, 3 waiting" in out
    assert "waits: default/web-" in out
    assert f"has a place on {state.nodes[0].view.name}" in out


def test_a_node_in_use_shows_its_price_and_how_full_it_is() -> None:
    out = printed(rehearsed("2m"))

    assert "spot" in out
    assert "%" in out
    assert "0 waiting" in out


def test_a_node_that_goes_says_so() -> None:
    out = printed(rehearsed("2m", "delete"))

    assert Progress.LEAVING.value in out


def test_no_more_nodes_than_fit_are_shown_and_the_others_counted() -> None:
    state = rehearsed("2m", pods=60)

    assert len(state.nodes) > 1
    assert f"and {len(state.nodes) - 1} more nodes" in printed(state, most=1)


@pytest.mark.parametrize("width", [80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    out = printed(rehearsed("20s"), width=width)

    assert max(map(len, out.splitlines())) <= width
    assert "booting" in out


@pytest.mark.parametrize("seconds", ["20s", "2m"])
def test_eighty_columns_cut_no_number_and_no_state(seconds: str) -> None:
    state = rehearsed(seconds, pods=60)
    [claim, *_] = [one.view.claim for one in state.nodes if one.view.claim is not None]

    lines = printed(state, width=80).splitlines()

    assert "…" not in "".join(lines)
    assert lines[1].split() == ["node", "type", "$/h", "pods", "cpu", "memory", "state"]
    assert any(f"{price_of(claim):.4f}" in line for line in lines)
    assert "cpu" in lines[0]
    assert "memory" in lines[0]


def test_a_long_name_is_shortened_before_anything_else() -> None:
    state = rehearsed("4s")
    [one] = state.nodes
    assert one.view.claim is not None
    named = replace(one.view, claim=replace(one.view.claim, name="a-pool-with-a-name-as-long-as-they-come-0"))

    line = printed(replace(state, nodes=(replace(one, view=named),)), width=80).splitlines()[2]

    assert line.split()[0].endswith("…")
    assert line.split()[-1] == Progress.BOOTING.value


def test_a_live_cluster_is_shown_once(server: ScriptedServer, tmp_path: Path) -> None:
    server.objects[NODE.path()] = [node("n-1", 1)]
    server.objects[NODE_CLAIM.path()] = [node_claim("c-1", 2)]
    server.objects[POD.path()] = [pod("p-1", 3)]

    ran = treenail("top", "--once", "--kubeconfig", kubeconfig(tmp_path, server.url))

    assert (ran.code, ran.complaint) == (0, "")
    assert "2 nodes" in ran.out
    assert "n-1" in ran.out


def test_looking_too_often_is_refused(tmp_path: Path) -> None:
    ran = treenail("top", "--every", "0.1", "--kubeconfig", str(tmp_path / "none"))

    assert (ran.code, ran.err) == (2, "treenail: --every 0.1 is less than 0.5 seconds\n")

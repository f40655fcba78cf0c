from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import pytest

from tests.scenarios.watching import (
    EXAMPLES,
    example,
    expect_whole_traces,
    fleet_requests,
    names,
    pods_by_node,
    told,
)
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model import labels
from treenail.domain.model.resources import Resources

TOO_SMALL = {"t3.nano", "t4g.nano", "t3a.nano"}


def played(name: str, seed: int = 1) -> Rehearsal:
    """Return a walkthrough when all its pods have run for a while."""
    rehearsal = Rehearsal(seed=seed)
    rehearsal.apply(example(name))
    rehearsal.run("5m")
    return rehearsal


@pytest.mark.seeds(quick=5, soak=200)
def test_five_pods_get_one_spot_node_and_give_it_back(seed: int) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        requests = fleet_requests(rehearsal)
        rehearsal.apply(example("001-inflate"))
        rehearsal.run("10m")

        assert rehearsal.running() == 5
        assert list(pods_by_node(rehearsal).values()) == [5]
        [node] = rehearsal.history()
        assert (node.capacity_type, node.terminated_at) == (labels.SPOT, None)
        [request] = requests
        offered = {override.instance_type for override in request.overrides}
        assert 0 < len(offered) <= 20
        assert not offered & TOO_SMALL

        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")

        assert (rehearsal.pods(), rehearsal.nodes(), rehearsal.claims()) == ((), (), ())
        assert rehearsal.ec2.live() == ()
        [ended] = told(rehearsal, "InstanceTerminated")
        assert ended.fields["cause"] == "empty"
        assert [record.cause for record in rehearsal.history()] == ["empty"]


@pytest.mark.seeds(quick=3, soak=20)
def test_an_empty_node_is_cordoned_drained_and_terminated_after_its_30_seconds(seed: int) -> None:
    with played("001-inflate", seed) as rehearsal:
        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")

        emptied, *others = told(rehearsal, "NodeEmptied")
        steps = [
            told(rehearsal, event)
            for event in ("DisruptNodes", "NodeCordoned", "NodeDrained", "InstanceTerminated")
        ]
        times = [step[0].at for step in steps]
        assert others == []
        assert [len(step) for step in steps] == [1, 1, 1, 1]
        assert times[0] - emptied.at == pytest.approx(30, abs=1)
        assert times == sorted(times)
        [node] = rehearsal.history()
        assert node.terminated_at is not None
        assert times[0] <= node.terminated_at <= emptied.at + 90


def test_types_that_the_system_itself_would_fill_are_never_in_the_choice() -> None:
    with played("001-inflate") as rehearsal:
        [claim] = rehearsal.claims()

        assert claim.instance_types
        assert not TOO_SMALL & set(claim.instance_types)


def test_pods_that_ask_for_c5_xlarge_get_two_of_them() -> None:
    with played("001-node-selector") as rehearsal:
        assert [node.instance_type for node in rehearsal.history()] == ["c5.xlarge", "c5.xlarge"]
        assert sorted(pods_by_node(rehearsal).values()) == [2, 3]
        assert rehearsal.running() == 5


def test_of_two_provisioners_the_one_that_has_the_type_serves_the_pod() -> None:
    with played("000-multi-provisioner") as rehearsal:
        [machine] = rehearsal.claims()
        [node] = rehearsal.history()

        assert machine.generation.claim_kind == "Machine"
        assert (machine.pool, node.node_pool) == ("team-provisioner", "team-provisioner")
        assert node.instance_type == "t3.large"
        assert machine.requests == Resources.parse({"cpu": "1155m", "memory": "120Mi", "pods": 5})
        assert rehearsal.running() == 1


def test_the_heavier_provisioner_serves_all_pods() -> None:
    with played("000-weight") as rehearsal:
        categories = {claim.labels[labels.INSTANCE_CATEGORY] for claim in rehearsal.claims()}

        assert categories == {"t"}
        assert {node.node_pool for node in rehearsal.history()} == {"weight-provisioner"}
        assert rehearsal.running() == 8


@pytest.mark.parametrize("name", ["000-multi-provisioner", "000-weight", "001-inflate", "001-node-selector"])
def test_every_decision_is_one_tree_of_spans(name: str) -> None:
    with played(name) as rehearsal:
        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")

        expect_whole_traces(rehearsal)
        decisions = rehearsal.decisions()
        [first, *others] = [names(root) for _, trace in decisions for root in rehearsal.telemetry.tree(trace)]
        nodes = len(rehearsal.history())
        assert first[:1] == ["decide"]
        assert {first.count(name) for name in ("batch", "select", "pack")} == {1}
        assert {first.count(name) for name in ("launch", "register", "initialize", "bind")} == {nodes}
        # Alike claims share a call; a pod the scheduler put elsewhere is decided on again, and buys nothing.
        assert 1 <= first.count("EC2/CreateFleet") <= nodes
        assert all(sorted(other) == ["batch", "decide", "pack", "select"] for other in others)


def test_the_end_of_a_node_is_a_tree_of_its_own() -> None:
    with played("001-inflate") as rehearsal:
        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")

        roots = [tree for t in rehearsal.telemetry.trace_ids() for tree in rehearsal.telemetry.tree(t)]
        [end] = [names(root) for root in roots if root.span.name == "disrupt"]
        assert end == ["disrupt", "cordon", "drain", "terminate"]


def test_ids_repeat_for_one_seed_and_differ_between_two() -> None:
    def ids(seed: int) -> tuple[object, ...]:
        with played("001-inflate", seed) as rehearsal:
            spans = [(span.context, span.name, span.start) for span in rehearsal.telemetry.spans()]
            return tuple(rehearsal.decisions()), tuple(spans)

    assert ids(7) == ids(7)
    assert ids(7)[0] != ids(8)[0]


@cache
def rehearsed(hash_seed: str) -> bytes:
    """Return what the command prints in a process of its own."""
    root = EXAMPLES.parent
    code = "from treenail.adapters.cli.main import main; main()"
    arguments = "rehearse -f examples/001-inflate.yaml --for 30m --at 10m scale=inflate:0 --seed 7 -o json"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments.split()],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / ".dev"), "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
    )
    assert done.stderr == b""
    return done.stdout


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_seed_prints_the_same_bytes_whatever_python_hashes(hash_seed: str) -> None:
    assert rehearsed(hash_seed) == rehearsed("0")


def test_what_is_printed_tells_of_one_node_bought_and_given_back() -> None:
    report = json.loads(rehearsed("0"))

    [node] = report["nodes"]
    assert node["cause"] == "empty"
    assert report["pods"] == []

"""Many pools whose nodes all drift: none waits for another."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.cluster import Change

NODES = 10


def pool(number: int, generation: str) -> dict[str, Any]:
    size = "xlarge" if number else "large"
    made = node_pool(f"pool-{number}", labels={"generation": generation, "number": str(number)})
    made["spec"]["template"]["spec"]["requirements"].append(
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [f"c5.{size}"]}
    )
    made["spec"]["disruption"]["budgets"] = [{"nodes": "10%"}]
    return made


def filled(rehearsal: Rehearsal, pools: int, nodes: int) -> None:
    """Let each pool have so many nodes, of one pod each."""
    apps = [
        deployment(f"app-{n}", nodes, cpu="3" if n else "1500m", node_selector={"number": str(n)})
        for n in range(pools)
    ]
    rehearsal.apply(text(node_class(), *(pool(n, "one") for n in range(pools)), *apps))
    rehearsal.run_until(lambda: rehearsal.running() == pools * nodes, within="15m")
    rehearsal.run("1m")
    assert len(rehearsal.claims()) == pools * nodes


def replaced_after(rehearsal: Rehearsal, numbers: range) -> dict[int, float]:
    """Let all nodes drift; return the seconds until those of each pool of these numbers are replaced."""
    old = {claim.name: int(claim.labels["number"]) for claim in rehearsal.claims()}
    left = Counter(old.values())
    took: dict[int, float] = {}

    def note(change: Change) -> None:
        if change.after is not None or change.kind != "NodeClaim" or change.address[1] not in old:
            return
        number = old.pop(change.address[1])
        left[number] -= 1
        if not left[number]:
            took[number] = rehearsal.seconds - began

    rehearsal.cluster.on_change(note)
    began = rehearsal.seconds
    rehearsal.apply(text(*(pool(n, "two") for n in sorted(left))))
    rehearsal.run_until(lambda: all(number in took for number in numbers), within="3h")
    return {number: took[number] for number in numbers}


def run_out(rehearsal: Rehearsal) -> None:
    """Let there be no more machines for the first pool."""
    rehearsal.run_out("c5.large", "*")


def test_all_nodes_are_replaced_in_little_more_than_the_time_the_budget_allows() -> None:
    with Rehearsal(seed=1) as rehearsal:
        filled(rehearsal, 1, 1)
        one = max(replaced_after(rehearsal, range(1)).values())
    with Rehearsal(seed=1) as rehearsal:
        filled(rehearsal, 4, NODES)
        # A tenth at a time: ten times what one node takes, at best.
        assert max(replaced_after(rehearsal, range(4)).values()) < 1.3 * 10 * one


def test_a_pool_that_cannot_buy_holds_up_no_other() -> None:
    took: list[float] = []
    for short in (False, True):
        with Rehearsal(seed=1) as rehearsal:
            filled(rehearsal, 3, 5)
            if short:
                run_out(rehearsal)
            old = {claim.name for claim in rehearsal.claims() if claim.pool == "pool-0"}
            took.append(max(replaced_after(rehearsal, range(1, 3)).values()))
            assert (old <= {claim.name for claim in rehearsal.claims()}) is short
            assert rehearsal.running() == 15

    assert took[1] < 1.05 * took[0]

"""When pods that no decision had a place for are decided on again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.storage import PersistentVolumeClaim
from treenail.domain.model.taints import Effect, Taint

# What is told within half a second is looked at together, and a batch stays open for one second more.
SOON = 2.0
NO_MORE = {"cpu": "0"}
CLOSED = Taint(key="closed", effect=Effect.NO_SCHEDULE)
LARGE = deployment("large", 1, cpu="500")


def decided(rehearsal: Rehearsal) -> int:
    return len(rehearsal.decisions())


def bound(rehearsal: Rehearsal) -> int:
    return sum(bool(pod.node_name) for pod in rehearsal.pods() if not pod.name.startswith("there"))


def next_decision(rehearsal: Rehearsal, within: float) -> bool:
    """Run for so many seconds; return whether a decision was made in them."""
    before = decided(rehearsal)
    rehearsal.run(within)
    return decided(rehearsal) > before


def test_a_pod_that_fits_nowhere_is_decided_on_fifty_times_a_day() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), LARGE))
        rehearsal.run("24h")

        assert 40 <= decided(rehearsal) <= 55


def test_pods_that_came_one_after_the_other_are_tried_together_before_long() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool()))
        for number in range(20):
            rehearsal.apply(text(deployment(f"large-{number}", 1, cpu="500")))
            rehearsal.run(97)
        rehearsal.run("2h")
        before = decided(rehearsal)
        rehearsal.run("6h")

        assert decided(rehearsal) - before <= 6 * 2 + 1


def one_node(rehearsal: Rehearsal) -> str:
    """Let there be one node, used in part, of a pool that buys no more; return its name."""
    rehearsal.apply(text(node_class(), node_pool(), deployment("there", 1, cpu="1")))
    rehearsal.run("3m")
    rehearsal.apply(text(node_pool(limits=NO_MORE)))
    (node,) = rehearsal.nodes()
    return node.name


def waits(rehearsal: Rehearsal, *manifests: Manifest) -> None:
    rehearsal.apply(text(*manifests))
    rehearsal.run("3h")
    assert any(not pod.node_name for pod in rehearsal.pods())


Change = Callable[[Rehearsal], object]


def limits_raised(rehearsal: Rehearsal) -> Change:
    one_node(rehearsal)
    waits(rehearsal, deployment("more", 4, cpu="1"))
    return lambda r: r.apply(text(node_pool(limits={"cpu": "100"})))


def limits_freed(rehearsal: Rehearsal) -> Change:
    one_node(rehearsal)
    rehearsal.apply(text(node_pool(limits={"cpu": "4"}), deployment("more", 9, cpu="3500m")))
    rehearsal.run("3h")

    def gone(r: Rehearsal) -> None:
        r.scale("there", 0)
        r.run_until(lambda: not r.claims(), within="10m")

    return gone


def uncordoned(rehearsal: Rehearsal) -> Change:
    name = one_node(rehearsal)
    rehearsal.cluster.patch_node(name, NodePatch(unschedulable=True))
    waits(rehearsal, deployment("more", 1, cpu="100m"))
    return lambda r: r.cluster.patch_node(name, NodePatch(unschedulable=False))


def taint_removed(rehearsal: Rehearsal) -> Change:
    name = one_node(rehearsal)
    rehearsal.cluster.patch_node(name, NodePatch(add_taints=(CLOSED,)))
    waits(rehearsal, deployment("more", 1, cpu="100m"))
    return lambda r: r.cluster.patch_node(name, NodePatch(remove_taints=(CLOSED,)))


def room_freed(rehearsal: Rehearsal) -> Change:
    one_node(rehearsal)
    waits(rehearsal, deployment("more", 20, cpu="100m"))
    return lambda r: r.scale("there", 0)


def class_there(rehearsal: Rehearsal) -> Change:
    rehearsal.apply(text(node_class(), node_pool("other")))
    rehearsal.delete("EC2NodeClass", "default")
    rehearsal.run("10s")
    waits(rehearsal, deployment("more", 1))
    return lambda r: r.apply(text(node_class()))


def offerings_back(rehearsal: Rehearsal) -> Change:
    rehearsal.run_out("*", "*")
    rehearsal.apply(text(node_class(), node_pool(), deployment("more", 1)))
    rehearsal.run("5s")
    (last, *_) = reversed(told(rehearsal, "CapacityRanOut"))
    return lambda r: r.run(last.at + 180 - r.seconds)


def claim_there(rehearsal: Rehearsal) -> Change:
    wanting = changed(
        deployment("more", 1),
        "spec.template.spec.volumes",
        [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    )
    rehearsal.apply(text(node_class(), node_pool()))
    waits(rehearsal, wanting)
    made = PersistentVolumeClaim(name="data", storage_class="missing")
    return lambda r: r.apply(made)


def company_came(rehearsal: Rehearsal) -> Change:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "friend"}}}
    wanting = changed(
        deployment("more", 1),
        "spec.template.spec.affinity",
        {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    )
    rehearsal.apply(text(node_class(), node_pool()))
    waits(rehearsal, wanting)
    return lambda r: r.apply(text(deployment("friend", 1)))


CHANGES = (
    limits_raised,
    limits_freed,
    uncordoned,
    taint_removed,
    room_freed,
    class_there,
    offerings_back,
    claim_there,
    company_came,
)


@pytest.mark.parametrize("change", CHANGES, ids=[one.__name__ for one in CHANGES])
def test_what_could_help_has_pods_decided_on_at_once(change: Callable[[Rehearsal], Change]) -> None:
    with Rehearsal(seed=1) as rehearsal:
        happen = change(rehearsal)
        assert not next_decision(rehearsal, 30) or change is offerings_back
        happen(rehearsal)
        before, there = decided(rehearsal), bound(rehearsal)
        rehearsal.run(SOON)
        # Room on a node that is there needs no decision: the scheduler finds it by itself.
        assert decided(rehearsal) > before or bound(rehearsal) > there


def test_pods_that_fit_nowhere_are_not_decided_on_with_all_that_comes_and_goes() -> None:
    minutes, pods = 20, 60
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": "topology.kubernetes.io/zone",
                    "labelSelector": {"matchLabels": {"app": "apart"}},
                }
            ]
        }
    }
    with Rehearsal(seed=1) as rehearsal:
        limited = node_pool("limited", limits={"cpu": "2"}, labels={"limited": "yes"})
        lonely = changed(deployment("apart", pods, cpu="100m"), "spec.template.spec.affinity", apart)
        large = deployment("large", pods, cpu="500")
        more = deployment("more", pods, cpu="1500m", node_selector={"limited": "yes"})
        rehearsal.apply(text(node_class(), node_pool(consolidate_after="5s"), limited, large, lonely, more))
        rehearsal.apply(text(deployment("busy", 5, cpu="1500m")))
        rehearsal.run("10m")

        spans = len(rehearsal.telemetry.spans())
        for second in range(0, 60 * minutes, 3):
            rehearsal.scale("busy", 5 + second // 3 % 7)
            rehearsal.run(3)

        made = [span for span in rehearsal.telemetry.spans()[spans:] if span.name == "decide"]
        refused = sum(int(str(span.attributes["treenail.refused"])) for span in made)
        waiting = sum(not pod.node_name for pod in rehearsal.pods())
        assert len(made) > 3 * minutes
        assert refused < minutes * waiting

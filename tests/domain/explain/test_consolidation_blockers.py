from __future__ import annotations

import pytest

from tests.builders import START
from treenail.domain.explain.consolidation_blockers import blocker
from treenail.domain.model.instants import write_instant

# Why a node n stays, and the kind and the name of what keeps it.
SENTENCES = {
    "pdb prevents pod evictions (PodDisruptionBudget=[default/db])": ("PodDisruptionBudget", "default/db"),
    "eviction does not support multiple PDBs (PodDisruptionBudget(s)=[default/a default/b])": (
        "PodDisruptionBudget",
        "default/a default/b",
    ),
    'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/p)': ("Pod", "default/p"),
    "pod cannot be read (Pod=default/p): spec.priority: no": ("Pod", "default/p"),
    "not all pods would schedule, default/p => it fits on no other node": ("Pod", "default/p"),
    "no allowed disruptions due to blocking budget of default": ("Budget", "default"),
    "limits of NodePool default leave no room for a replacement": ("NodePool", "default"),
    "NodePool not found (NodePool=gone)": ("NodePool", "gone"),
    'NodePool "default" has consolidation disabled': ("NodePool", "default"),
    'Provisioner "old" has consolidation policy WhenEmpty, but node is not empty': ("NodePool", "old"),
    'NodePool "default" has consolidation policy Balanced: the move scores 0.40, less than 0.50': (
        "NodePool",
        "default",
    ),
    'NodePool "default" wants moves to pay back within 2h0m0s: this one would earn $0.1 by then': (
        "NodePool",
        "default",
    ),
    "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node": (
        "Setting",
        "SpotToSpotConsolidation",
    ),
    "it takes pods of nodes that go": ("Moves", "n"),
    "the price of its offering is not known": ("Price", "n"),
    "Can't replace with a cheaper node": ("Price", "n"),
    'disruption is blocked through the "karpenter.sh/do-not-disrupt" annotation': ("Node", "n"),
    "node isn't initialized": ("Node", "n"),
    "something that nobody thought of": ("Node", "n"),
}


@pytest.mark.parametrize("why", SENTENCES)
def test_a_sentence_names_what_keeps_a_node(why: str) -> None:
    found = blocker(why, "n", 0.5)

    assert (found.kind, found.name) == SENTENCES[why]
    assert found.why == why
    assert found.until is None


def test_what_lasts_for_a_time_says_until_when() -> None:
    at = write_instant(START)

    found = blocker(f"pods came or left less than consolidateAfter (1m0s) ago: it stays until {at}", "n", 0.5)

    assert (found.kind, found.until, found.would_save) == ("ConsolidateAfter", START, 0.5)


@pytest.mark.parametrize("why", ["Can't replace with a cheaper node", "it takes pods of nodes that go"])
def test_where_nothing_can_be_removed_nothing_would_be_saved(why: str) -> None:
    assert blocker(why, "n", 0.5).would_save == 0.0


def test_reasons_are_grouped_by_what_they_have_in_common() -> None:
    reasons = [blocker(f"pdb prevents pod evictions (PodDisruptionBudget=[a/{n}])", "n") for n in range(2)]

    assert reasons[0].group == reasons[1].group
    assert reasons[0].name != reasons[1].name

from __future__ import annotations

import json
from typing import Final

from tests.adapters.kubernetes.objects import node, node_pool, pod, provisioner
from tests.adapters.kubernetes.scripted import Tree
from treenail.adapters.api.items import Item
from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes.items import items_of
from treenail.adapters.kubernetes.ledger import Ledger
from treenail.adapters.kubernetes.resources import NODE, NODE_POOL, POD, PROVISIONER, WATCHED, Resource
from treenail.domain.cluster.cluster_facts import ObjectGone, ObjectSeen, key_of

ALL: Final = 100


def item(resource: Resource, tree: Tree) -> Item:
    return items_of(resource, Reading()).read(json.dumps(tree).encode())


def told(ledger: Ledger, most: int = ALL) -> list[tuple[str, str, int]]:
    """What is to be told: seen or gone, the key, and the version."""
    facts = []
    for fact in ledger.take(most):
        match fact:
            case ObjectSeen():
                facts.append(("seen", key_of(fact.object), fact.object.resource_version))
            case ObjectGone():
                facts.append(("gone", fact.key, 0))
            case _:
                facts.append((type(fact).__name__, "", 0))
    return facts


def a_ledger(*things: tuple[Resource, Tree]) -> Ledger:
    """One whose listener knows `things` already."""
    ledger = Ledger(WATCHED)
    for resource in WATCHED:
        ledger.listed(resource, [item(r, tree) for r, tree in things if r is resource], 10)
    ledger.resynced()
    return ledger


def test_before_the_first_full_list_nothing_waits_to_be_told() -> None:
    ledger = Ledger(WATCHED)

    ledger.seen(POD, item(POD, pod("a", 1)))

    assert told(ledger) == []


def test_it_is_complete_when_every_resource_was_read_or_is_not_served() -> None:
    ledger = Ledger((POD, NODE))
    ledger.listed(POD, (), 5)
    before = ledger.complete

    ledger.not_served(NODE)

    assert (before, ledger.complete) == (False, True)
    assert ledger.resynced().revision == 5


def test_a_full_list_stands_for_all_that_was_still_to_be_told() -> None:
    ledger = a_ledger()
    ledger.seen(POD, item(POD, pod("a", 11)))

    listed = ledger.resynced()

    assert [key_of(thing) for thing in listed.objects] == ["uid-a"]
    assert told(ledger) == []


def test_an_older_version_changes_nothing() -> None:
    ledger = a_ledger((NODE, node("n-0", 9)))

    ledger.seen(NODE, item(NODE, node("n-0", 8, app="web")))
    ledger.seen(NODE, item(NODE, node("n-0", 9, app="web")))

    assert told(ledger) == []


def test_as_many_are_told_at_once_as_are_asked_for() -> None:
    ledger = a_ledger()
    for version in (11, 12, 13):
        ledger.seen(POD, item(POD, pod(f"p-{version}", version)))

    assert [key for _, key, _ in told(ledger, 2)] == ["uid-p-11", "uid-p-12"]
    assert [key for _, key, _ in told(ledger, 2)] == ["uid-p-13"]


def test_of_an_object_the_last_fact_is_told_at_the_place_of_the_first() -> None:
    ledger = a_ledger()

    ledger.seen(POD, item(POD, pod("a", 11)))
    ledger.seen(POD, item(POD, pod("b", 12)))
    ledger.seen(POD, item(POD, pod("a", 13, app="web")))

    assert told(ledger) == [("seen", "uid-a", 13), ("seen", "uid-b", 12)]


def test_of_an_object_that_came_and_went_meanwhile_nothing_is_told() -> None:
    ledger = a_ledger()

    ledger.seen(POD, item(POD, pod("a", 11)))
    ledger.gone(POD, "uid-a", 12)

    assert told(ledger) == []


def test_that_an_object_is_gone_is_told_to_who_knew_it_set_aside() -> None:
    ledger = a_ledger()
    ledger.seen(NODE_POOL, item(NODE_POOL, node_pool("bad", 11, weight=-1)))
    assert told(ledger) == [("ObjectSetAside", "", 0)]

    ledger.seen(NODE_POOL, item(NODE_POOL, node_pool("bad", 12)))
    ledger.gone(NODE_POOL, "uid-pool-bad", 13)

    assert told(ledger) == [("gone", "bad", 0)]


def test_a_broken_object_stays_in_use_as_it_was_and_goes_with_all_it_stood_for() -> None:
    ledger = a_ledger((PROVISIONER, provisioner("default", 9, provider=True)))
    ledger.seen(PROVISIONER, item(PROVISIONER, provisioner("default", 11, provider=True, weight=-1)))
    told(ledger)

    listed = ledger.resynced()
    ledger.gone(PROVISIONER, "uid-provisioner-default", 12)

    assert [key_of(thing) for thing in listed.objects] == ["Provisioner/default"]
    assert [aside.key for aside in listed.set_aside] == ["default"]
    assert sorted(told(ledger)) == [("gone", "Provisioner/default", 0), ("gone", "default", 0)]


# --- a NodePool and a Provisioner of one name

BOTH: Final = ((NODE_POOL, node_pool("default", 8)), (PROVISIONER, provisioner("default", 9, provider=True)))


def test_of_two_pools_of_one_name_the_provisioner_is_set_aside_but_for_a_node_class_within() -> None:
    for things in (BOTH, BOTH[::-1]):
        ledger = Ledger((NODE_POOL, PROVISIONER))
        for resource, tree in things:
            ledger.listed(resource, [item(resource, tree)], 10)

        full = ledger.resynced()

        assert [(key_of(thing), thing.resource_version) for thing in full.objects] == [
            ("default", 8),
            ("Provisioner/default", 9),
        ]
        (aside,) = full.set_aside
        assert str(aside.about) == "Provisioner default"
        assert aside.problem.startswith("metadata.name: there is a NodePool default too")


def test_a_provisioner_goes_before_the_node_pool_of_its_name_comes() -> None:
    ledger = a_ledger((PROVISIONER, provisioner("default", 9)))

    ledger.seen(PROVISIONER, item(PROVISIONER, provisioner("default", 11, weight=3)))
    ledger.seen(NODE_POOL, item(NODE_POOL, node_pool("default", 12)))

    assert told(ledger) == [("gone", "default", 0), ("ObjectSetAside", "", 0), ("seen", "default", 12)]


def test_a_hidden_provisioner_that_changes_stays_hidden_and_one_that_goes_is_gone() -> None:
    ledger = a_ledger(*BOTH)

    ledger.seen(PROVISIONER, item(PROVISIONER, provisioner("default", 11, weight=3)))
    first = told(ledger)
    ledger.gone(PROVISIONER, "uid-provisioner-default", 12)
    second = told(ledger)
    ledger.gone(NODE_POOL, "uid-pool-default", 13)

    # It had a node class within, and has none any more.
    assert sorted(first) == [("ObjectSetAside", "", 0), ("gone", "Provisioner/default", 0)]
    assert second == [("gone", "Provisioner/default", 0)]
    assert told(ledger) == [("gone", "default", 0)]


def test_a_provisioner_is_what_it_was_when_the_node_pool_goes() -> None:
    ledger = a_ledger(*BOTH)

    ledger.gone(NODE_POOL, "uid-pool-default", 12)

    assert told(ledger) == [
        ("gone", "default", 0),
        ("seen", "Provisioner/default", 9),  # the node class within
        ("gone", "Provisioner/default", 0),  # what was set aside
        ("seen", "default", 9),
    ]
    assert len(ledger.resynced().objects) == 2


def test_a_node_pool_nobody_understands_hides_a_provisioner_too() -> None:
    ledger = a_ledger((PROVISIONER, provisioner("default", 9)))

    ledger.seen(NODE_POOL, item(NODE_POOL, node_pool("default", 11, weight=-1)))

    assert sorted(aside.key for aside in ledger.resynced().set_aside) == ["Provisioner/default", "default"]


# --- how full lists stand to what is told


def test_the_revision_of_a_full_list_is_what_every_resource_was_read_up_to() -> None:
    ledger = Ledger((POD, NODE))
    ledger.listed(POD, (), 20)
    ledger.listed(NODE, (), 10)

    ledger.reached(NODE, 15)
    first = ledger.resynced().revision
    ledger.seen(NODE, item(NODE, node("n-0", 25)))
    ledger.gone(POD, "uid-a", 22)

    assert (first, ledger.resynced().revision) == (15, 22)

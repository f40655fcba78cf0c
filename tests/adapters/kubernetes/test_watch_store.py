from __future__ import annotations

from typing import Final

from tests.adapters.kubernetes.objects import item, meta, node, node_pool, pod, provisioner
from tests.adapters.kubernetes.scripted import Tree
from treenail.adapters.kubernetes.resources import (
    DEVICE_TAINT_RULES,
    NODE,
    NODE_POOL,
    POD,
    PROVISIONER,
    WATCHED,
    Resource,
)
from treenail.adapters.kubernetes.watch_store import WatchStore
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, ObjectSeen, key_of

ALL: Final = 100


def told(store: WatchStore, most: int = ALL) -> list[tuple[str, str, int]]:
    """What is to be told: seen or gone, the key, and the version."""
    facts = []
    for fact in store.take(most):
        match fact:
            case ObjectSeen():
                facts.append(("seen", key_of(fact.object), fact.object.resource_version))
            case ObjectGone():
                facts.append(("gone", fact.key, 0))
            case _:
                facts.append((type(fact).__name__, "", 0))
    return facts


def a_ledger(*things: tuple[Resource, Tree]) -> WatchStore:
    """One whose listener knows `things` already."""
    store = WatchStore(WATCHED)
    for resource in WATCHED:
        store.listed(resource, [item(r, tree) for r, tree in things if r is resource], 10)
    store.resynced()
    return store


def test_before_the_first_full_list_nothing_waits_to_be_told() -> None:
    store = WatchStore(WATCHED)

    store.seen(POD, item(POD, pod("a", 1)))

    assert told(store) == []


def test_it_is_complete_when_every_resource_was_read_or_is_not_served() -> None:
    store = WatchStore((POD, NODE))
    store.listed(POD, (), 5)
    before = store.complete

    store.not_served(NODE)

    assert (before, store.complete) == (False, True)
    assert store.resynced().revision == 5


def test_a_full_list_stands_for_all_that_was_still_to_be_told() -> None:
    store = a_ledger()
    store.seen(POD, item(POD, pod("a", 11)))

    listed = store.resynced()

    assert [key_of(thing) for thing in listed.objects] == ["uid-a"]
    assert told(store) == []


def test_an_older_version_changes_nothing() -> None:
    store = a_ledger((NODE, node("n-0", 9)))

    store.seen(NODE, item(NODE, node("n-0", 8, app="web")))
    store.seen(NODE, item(NODE, node("n-0", 9, app="web")))

    assert told(store) == []


def test_as_many_are_told_at_once_as_are_asked_for() -> None:
    store = a_ledger()
    for version in (11, 12, 13):
        store.seen(POD, item(POD, pod(f"p-{version}", version)))

    assert [key for _, key, _ in told(store, 2)] == ["uid-p-11", "uid-p-12"]
    assert [key for _, key, _ in told(store, 2)] == ["uid-p-13"]


def test_of_an_object_the_last_fact_is_told_at_the_place_of_the_first() -> None:
    store = a_ledger()

    store.seen(POD, item(POD, pod("a", 11)))
    store.seen(POD, item(POD, pod("b", 12)))
    store.seen(POD, item(POD, pod("a", 13, app="web")))

    assert told(store) == [("seen", "uid-a", 13), ("seen", "uid-b", 12)]


def test_of_an_object_that_came_and_went_meanwhile_nothing_is_told() -> None:
    store = a_ledger()

    store.seen(POD, item(POD, pod("a", 11)))
    store.gone(POD, "uid-a", 12)

    assert told(store) == []


def test_that_an_object_is_gone_is_told_to_who_knew_it_set_aside() -> None:
    store = a_ledger()
    store.seen(NODE_POOL, item(NODE_POOL, node_pool("bad", 11, weight=-1)))
    assert told(store) == [("ObjectSetAside", "", 0)]

    store.seen(NODE_POOL, item(NODE_POOL, node_pool("bad", 12)))
    store.gone(NODE_POOL, "uid-pool-bad", 13)

    assert told(store) == [("gone", "bad", 0)]


def test_a_broken_object_stays_in_use_as_it_was_and_goes_with_all_it_stood_for() -> None:
    store = a_ledger((PROVISIONER, provisioner("default", 9, provider=True)))
    store.seen(PROVISIONER, item(PROVISIONER, provisioner("default", 11, provider=True, weight=-1)))
    told(store)

    listed = store.resynced()
    store.gone(PROVISIONER, "uid-provisioner-default", 12)

    assert [key_of(thing) for thing in listed.objects] == ["Provisioner/default"]
    assert [aside.key for aside in listed.set_aside] == ["default"]
    assert sorted(told(store)) == [("gone", "Provisioner/default", 0), ("gone", "default", 0)]


# --- a NodePool and a Provisioner of one name

BOTH: Final = ((NODE_POOL, node_pool("default", 8)), (PROVISIONER, provisioner("default", 9, provider=True)))


def test_of_two_pools_of_one_name_the_provisioner_is_set_aside_but_for_a_node_class_within() -> None:
    for things in (BOTH, BOTH[::-1]):
        store = WatchStore((NODE_POOL, PROVISIONER))
        for resource, tree in things:
            store.listed(resource, [item(resource, tree)], 10)

        full = store.resynced()

        assert [(key_of(thing), thing.resource_version) for thing in full.objects] == [
            ("default", 8),
            ("Provisioner/default", 9),
        ]
        (aside,) = full.set_aside
        assert str(aside.about) == "Provisioner default"
        assert aside.problem.startswith("metadata.name: there is a NodePool default too")


def test_a_provisioner_goes_before_the_node_pool_of_its_name_comes() -> None:
    store = a_ledger((PROVISIONER, provisioner("default", 9)))

    store.seen(PROVISIONER, item(PROVISIONER, provisioner("default", 11, weight=3)))
    store.seen(NODE_POOL, item(NODE_POOL, node_pool("default", 12)))

    assert told(store) == [("gone", "default", 0), ("ObjectSetAside", "", 0), ("seen", "default", 12)]


def test_a_hidden_provisioner_that_changes_stays_hidden_and_one_that_goes_is_gone() -> None:
    store = a_ledger(*BOTH)

    store.seen(PROVISIONER, item(PROVISIONER, provisioner("default", 11, weight=3)))
    first = told(store)
    store.gone(PROVISIONER, "uid-provisioner-default", 12)
    second = told(store)
    store.gone(NODE_POOL, "uid-pool-default", 13)

    # It had a node class within, and has none any more.
    assert sorted(first) == [("ObjectSetAside", "", 0), ("gone", "Provisioner/default", 0)]
    assert second == [("gone", "Provisioner/default", 0)]
    assert told(store) == [("gone", "default", 0)]


def test_a_provisioner_is_what_it_was_when_the_node_pool_goes() -> None:
    store = a_ledger(*BOTH)

    store.gone(NODE_POOL, "uid-pool-default", 12)

    assert told(store) == [
        ("gone", "default", 0),
        ("seen", "Provisioner/default", 9),  # the node class within
        ("gone", "Provisioner/default", 0),  # what was set aside
        ("seen", "default", 9),
    ]
    assert len(store.resynced().objects) == 2


def test_a_node_pool_nobody_understands_hides_a_provisioner_too() -> None:
    store = a_ledger((PROVISIONER, provisioner("default", 9)))

    store.seen(NODE_POOL, item(NODE_POOL, node_pool("default", 11, weight=-1)))

    assert sorted(aside.key for aside in store.resynced().set_aside) == ["Provisioner/default", "default"]


# --- how full lists stand to what is told


def test_the_revision_of_a_full_list_is_what_every_resource_was_read_up_to() -> None:
    store = WatchStore((POD, NODE))
    store.listed(POD, (), 20)
    store.listed(NODE, (), 10)

    store.reached(NODE, 15)
    first = store.resynced().revision
    store.seen(NODE, item(NODE, node("n-0", 25)))
    store.gone(POD, "uid-a", 22)

    assert (first, store.resynced().revision) == (15, 22)


OLD, NEWER, NEWEST = DEVICE_TAINT_RULES


def a_rule(version: int) -> Tree:
    spec = {"deviceSelector": {}, "taint": {"key": "k", "effect": "NoSchedule"}}
    return {"metadata": meta("broken", version), "spec": spec}


def with_a_rule_of(resource: Resource) -> WatchStore:
    """A store with a rule in one version, the others of which are not served."""
    store = WatchStore(DEVICE_TAINT_RULES)
    for one in DEVICE_TAINT_RULES:
        if one is not resource:
            store.not_served(one)
    store.listed(resource, [item(resource, a_rule(7))], 10)
    assert [key_of(rule) for rule in store.resynced().objects] == [f"{resource.api_version}/broken"]
    return store


def test_what_is_not_served_in_one_version_any_more_stays_until_it_is_read_in_another() -> None:
    store = with_a_rule_of(NEWER)

    store.not_served(NEWER)
    store.not_served(NEWER)
    store.not_served(OLD)
    assert told(store) == []
    assert len(store.resynced().objects) == 1

    store.listed(NEWEST, [item(NEWEST, a_rule(12))], 12)
    assert told(store) == [
        ("seen", f"{NEWEST.api_version}/broken", 12),
        ("gone", f"{NEWER.api_version}/broken", 0),
    ]
    assert [key_of(rule) for rule in store.resynced().objects] == [f"{NEWEST.api_version}/broken"]


def test_what_is_served_in_no_version_any_more_is_gone_when_each_was_asked_for() -> None:
    store = with_a_rule_of(NEWER)

    store.not_served(NEWER)
    store.not_served(OLD)
    store.not_served(NEWEST)

    assert told(store) == [("gone", f"{NEWER.api_version}/broken", 0)]
    assert store.resynced().objects == ()


def test_what_is_served_in_two_versions_and_then_in_one_has_the_rules_of_that_one() -> None:
    store = with_a_rule_of(NEWER)
    store.listed(NEWEST, [item(NEWEST, a_rule(7))], 10)
    told(store)

    store.not_served(NEWER)

    assert told(store) == [("gone", f"{NEWER.api_version}/broken", 0)]


def test_a_version_that_is_served_again_goes_on() -> None:
    store = with_a_rule_of(NEWER)

    store.not_served(NEWER)
    store.listed(NEWER, [item(NEWER, a_rule(7))], 11)
    store.not_served(OLD)
    store.not_served(NEWEST)

    assert told(store) == []


def test_what_is_served_later_and_may_not_be_seen_then_is_told_as_unreadable() -> None:
    store = WatchStore((POD, NEWEST))
    store.listed(POD, (), 5)
    store.not_served(NEWEST)
    assert store.resynced().unreadable == frozenset()

    store.withheld(NEWEST)

    assert store.renewed
    assert store.resynced().unreadable == {Kind.DEVICE_TAINT_RULE}
    store.withheld(NEWEST)
    assert not store.renewed
    store.listed(NEWEST, (), 6)
    assert store.renewed
    assert store.resynced().unreadable == frozenset()


def test_in_a_version_that_may_not_be_seen_there_may_be_what_is_not_served_in_another_any_more() -> None:
    store = with_a_rule_of(NEWER)

    store.not_served(NEWER)
    store.not_served(OLD)
    store.withheld(NEWEST)

    assert store.resynced().unreadable == {Kind.DEVICE_TAINT_RULE}


def test_a_list_that_is_being_read_is_taken_in_though_another_version_was_read_meanwhile() -> None:
    store = with_a_rule_of(NEWER)
    store.not_served(NEWER)
    listing = store.begin(OLD)
    again = store.begin(NEWER)

    store.listed(NEWEST, (), 11)
    for resource, reading in ((OLD, listing), (NEWER, again)):
        reading.add(item(resource, a_rule(7)))
        store.merge(resource, reading, 12)

    rules = [key_of(rule) for rule in store.resynced().objects]
    assert rules == [f"{OLD.api_version}/broken", f"{NEWER.api_version}/broken"]

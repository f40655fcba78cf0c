"""Objects that nobody understands, and what the model makes of those that depend on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import START, bound_pod
from tests.domain.models import model
from tests.domain.storages import EBS, FAST, storage_claim, using, volume
from tests.sentences import said
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterObject, Kind, ObjectSeen, ObjectSetAside, Resynced
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.pod_budgets import PodDisruptionBudget
from treenail.domain.model.pods import LabelSelector
from treenail.domain.model.storage import StorageClass

WRONG = "spec.odd: is odd"


def aside(kind: Kind, key: str, partly: ClusterObject | None = None) -> ObjectSetAside:
    about = ObjectRef(kind.value, key.rpartition("/")[2])
    return ObjectSetAside(kind=kind, key=key, resource_version=9, about=about, problem=WRONG, partly=partly)


def problem(known: ClusterModel) -> str:
    return known.snapshot(START).volumes["p1"].problem


@pytest.mark.parametrize(
    ("fact", "there"),
    [
        (aside(Kind.PERSISTENT_VOLUME_CLAIM, "default/data"), (FAST,)),
        (aside(Kind.PERSISTENT_VOLUME, "v1"), (FAST, storage_claim(bound_to="v1"))),
        (aside(Kind.STORAGE_CLASS, "fast"), (storage_claim(),)),
    ],
)
def test_a_pod_whose_storage_cannot_be_read_is_told_that(
    fact: ObjectSetAside, there: tuple[ClusterObject, ...]
) -> None:
    known = model(*there, using("data"))
    assert "is not there" in problem(known)

    known.learn(fact, START)

    assert problem(known) == f"the {fact.kind.value} {fact.key} cannot be read: {WRONG}"


def test_what_was_last_understood_of_storage_stays_in_use() -> None:
    known = model(FAST, storage_claim(bound_to="v1"), volume("v1"), using("data"))

    known.learn(aside(Kind.PERSISTENT_VOLUME, "v1"), START)

    assert problem(known) == ""


def test_nothing_more_can_be_attached_to_a_node_that_does_not_say_what_can() -> None:
    other = StorageClass(name="other", resource_version=1, provisioner="example.com/disks")
    known = model(FAST, other)
    assert known.objects.storage.limits("n-1") == {}

    known.learn(aside(Kind.CSI_NODE, "n-1"), START)

    assert known.objects.storage.limits("n-1")[EBS] == 0
    assert known.objects.storage.limits("n-1")["example.com/disks"] == 0
    assert known.objects.storage.limits("n-2") == {}


def test_a_list_in_which_it_is_understood_ends_that_it_is_not() -> None:
    known = model(FAST, storage_claim(bound_to="v1"), using("data"))
    known.learn(aside(Kind.PERSISTENT_VOLUME, "v1"), START)

    there = (FAST, storage_claim(bound_to="v1"), volume("v1"), using("data"))
    known.learn(Resynced(revision=10, objects=there), START)

    assert known.objects.aside == {}
    assert problem(known) == ""


def test_a_budget_that_cannot_be_read_holds_the_pods_of_its_namespace() -> None:
    odd = PodDisruptionBudget(name="odd", resource_version=9, selector=LabelSelector(), unread=WRONG)
    known = model(bound_pod("p1", "n-1"))
    assert known.objects.pod_budgets.holding(known.objects.pods["p1"]) is None

    known.learn(aside(Kind.POD_DISRUPTION_BUDGET, odd.key, odd), START)

    held = known.objects.pod_budgets.holding(known.objects.pods["p1"])
    assert said(held) == f"{WRONG}; pdb prevents pod evictions (PodDisruptionBudget=[default/odd])"


def test_a_budget_that_is_overdrawn_holds() -> None:
    budget = PodDisruptionBudget(name="b", selector=LabelSelector(), disruptions_allowed=-1)

    assert budget.holds(replace(bound_pod("p1", "n-1"), ready=True))


def test_a_part_that_is_understood_later_takes_the_place_of_it() -> None:
    odd = replace(bound_pod("p1", "n-1"), resource_version=9, unread=WRONG)
    known = model()
    known.learn(aside(Kind.POD, "p1", odd), START)
    assert known.objects.pods["p1"].unread == WRONG

    known.learn(ObjectSeen(object=replace(odd, resource_version=10, unread="")), START)

    assert known.objects.pods["p1"].unread == ""
    assert known.objects.aside == {}

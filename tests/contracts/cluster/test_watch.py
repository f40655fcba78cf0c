from __future__ import annotations

from dataclasses import replace

from tests.adapters.fake.cluster.builders import a_claim, a_class, a_node, a_pool
from tests.adapters.fake.cluster.rig import Listener
from tests.contracts.cluster.subject import OF_EVERY_CLUSTER, Subject, running, the_pod, unbound
from treenail.domain.cluster.cluster_facts import (
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    Resynced,
    StorageObject,
    key_of,
    kind_of,
)
from treenail.domain.model import labels
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import Expression, LabelSelector
from treenail.domain.model.requirements import Operator
from treenail.domain.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

EBS = "ebs.csi.aws.com"
ZONE_A = ((Expression(labels.ZONE, Operator.IN, ("a",)),),)
STORAGE: tuple[StorageObject, ...] = (
    StorageClass(name="fast", provisioner=EBS, waits_for_pod=True, allowed_topologies=ZONE_A),
    PersistentVolume(
        name="v-0",
        storage_class="fast",
        capacity=2**30,
        access_modes=("ReadWriteOnce",),
        claim="default/data",
        driver=EBS,
        handle="vol-0",
        node_affinity=ZONE_A,
    ),
    PersistentVolumeClaim(
        name="data",
        storage_class="fast",
        volume_name="v-0",
        access_modes=("ReadWriteOnce",),
        requested=2**30,
        annotations={"pv.kubernetes.io/bind-completed": "yes"},
        bound=True,
    ),
    CSINode(name="n-0", limits={EBS: 26}),
)


def seen(listener: Listener) -> set[tuple[Kind, str]]:
    """What the first full list holds, by kind and name, but for the namespaces of every cluster."""
    things = listener.of(Resynced)[0].objects
    found = {(kind_of(thing), getattr(thing, "name", "")) for thing in things}
    return found - {(Kind.NAMESPACE, name) for name in OF_EVERY_CLUSTER}


def test_a_feed_begins_with_all_there_is(subject: Subject) -> None:
    listener = Listener()
    subject.apply(a_pool("default"), a_class("default"), a_node("n-0"), unbound("web"))
    subject.writer.create_claim(a_claim("c-0"))

    subject.reader.feed(listener)
    subject.settle()

    assert seen(listener) == {
        (Kind.NODE_POOL, "default"),
        (Kind.NODE_CLASS, ""),
        (Kind.NODE, "n-0"),
        (Kind.NODE_CLAIM, "c-0"),
        (Kind.POD, "web"),
    }


def test_a_budget_of_pods_is_told_with_what_it_allows(subject: Subject) -> None:
    listener = Listener()
    web = LabelSelector(match_labels=(("app", "web"),))
    budget = PodDisruptionBudget(name="web", selector=web, min_available=Portion(1))
    subject.apply(a_node("n-0"), running("web-0"), running("web-1"), budget)
    subject.settle()

    subject.reader.feed(listener)
    subject.settle()

    (told,) = (t for t in listener.of(Resynced)[0].objects if isinstance(t, PodDisruptionBudget))
    assert (told.key, told.selector, told.disruptions_allowed) == ("default/web", web, 1)


def test_a_pod_that_goes_is_told_by_its_uid(subject: Subject) -> None:
    listener = Listener()
    subject.apply(unbound("web"))
    pod = the_pod(subject, "web")
    subject.reader.feed(listener)
    subject.settle()

    subject.writer.delete_pod("default", "web", uid=pod.uid, grace_seconds=0)
    subject.settle()

    assert listener.of(ObjectGone) == [ObjectGone(kind=Kind.POD, key=key_of(pod))]


def without_what_the_server_gives(thing: ClusterObject) -> ClusterObject:
    plain = replace(thing, uid="", resource_version=0)
    return replace(plain, created_at=None) if isinstance(plain, StorageClass) else plain


def test_storage_is_told_of_as_it_is(subject: Subject) -> None:
    listener = Listener()
    subject.apply(*STORAGE)

    subject.reader.feed(listener)
    subject.settle()

    things = listener.of(Resynced)[0].objects
    assert [without_what_the_server_gives(t) for t in things if kind_of(t) is not Kind.NAMESPACE] == list(
        STORAGE
    )


def test_storage_that_comes_later_is_told_of_when_it_comes(subject: Subject) -> None:
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    for thing in STORAGE:
        subject.apply(thing)
        subject.settle()

    told = [without_what_the_server_gives(fact.object) for fact in listener.of(ObjectSeen)]
    assert told == list(STORAGE)


def test_a_namespace_bears_its_name_as_a_label(subject: Subject) -> None:
    listener = Listener()
    subject.reader.feed(listener)
    subject.settle()

    subject.apply(Namespace(name="shop", labels={"team": "a"}))
    subject.settle()

    told = {
        fact.object.name: dict(fact.object.labels)
        for fact in listener.of(ObjectSeen)
        if isinstance(fact.object, Namespace)
    }
    assert told["shop"] == {"team": "a", "kubernetes.io/metadata.name": "shop"}

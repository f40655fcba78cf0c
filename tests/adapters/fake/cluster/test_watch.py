from __future__ import annotations

from tests.adapters.fake.cluster.builders import a_claim, a_pod, a_pool
from tests.adapters.fake.cluster.rig import Rig
from treenail.domain.cluster_facts import Kind, ObjectGone, ObjectSeen, Resynced
from treenail.domain.ports import ClaimPatch


def test_a_feed_begins_with_all_there_is_at_one_revision() -> None:
    rig = Rig()
    rig.cluster.apply(a_pool("default"))
    rig.cluster.create_claim(a_claim("c-0"))

    listener = rig.watched()
    rig.run(1)

    [listed] = listener.facts
    assert isinstance(listed, Resynced)
    assert [getattr(o, "name", "") for o in listed.objects] == ["default", "c-0"]
    assert listed.revision == rig.cluster.revision


def test_each_change_is_told_in_order_of_revision() -> None:
    rig = Rig()
    listener = rig.watched()
    rig.run(1)

    rig.cluster.create_claim(a_claim("c-0"))
    rig.run(1)
    rig.cluster.patch_claim("c-0", ClaimPatch(provider_id="aws:///zone/i-0"))
    claim = rig.cluster.get_claim("c-0")
    rig.cluster.delete_claim("c-0", uid=claim.uid)
    rig.run(1)

    assert [f.object.resource_version for f in listener.of(ObjectSeen)] == [1, 2]
    assert listener.facts[-1] == ObjectGone(kind=Kind.NODE_CLAIM, key="c-0")


def test_whoever_listens_after_a_restart_hears_everything_anew() -> None:
    rig = Rig()
    first = rig.watched()
    rig.run(1)
    rig.cluster.apply(a_pod("web"))
    rig.cluster.stop()
    rig.run(1)

    second = rig.watched()
    rig.run(1)

    assert [type(f) for f in first.facts] == [Resynced]
    [listed] = second.of(Resynced)
    assert [getattr(o, "name", "") for o in listed.objects] == ["web"]

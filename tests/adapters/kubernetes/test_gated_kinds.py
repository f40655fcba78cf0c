from __future__ import annotations

from tests.adapters.kubernetes.objects import meta, node
from tests.adapters.kubernetes.rig import Rig
from treenail.adapters.kubernetes.resources import NODE, NODE_OVERLAY
from treenail.domain.cluster.cluster_facts import Kind, ObjectGone, key_of
from treenail.domain.model.node_overlays import NodeOverlay

OVERLAY = {
    "apiVersion": "karpenter.sh/v1alpha1",
    "kind": "NodeOverlay",
    "metadata": meta("own", 3),
    "spec": {"requirements": [], "price": "0.5"},
}


def test_node_overlays_are_asked_for_only_where_their_gate_is_on() -> None:
    with Rig() as rig:
        rig.server.serve(NODE_OVERLAY, OVERLAY)
        rig.server.serve(NODE, node("n-0", 1))

        assert [key_of(one) for one in rig.start().objects] == ["n-0"]
        assert NODE_OVERLAY.path() not in {asked.path for asked in rig.server.asked}


def test_node_overlays_are_told_of_first_and_when_they_go() -> None:
    with Rig(overlays=True) as rig:
        rig.server.serve(NODE_OVERLAY, OVERLAY)
        rig.server.serve(NODE, node("n-0", 1))

        first, *_ = rig.start().objects
        assert isinstance(first, NodeOverlay)
        assert (first.name, first.price is not None and first.price.price) == ("own", 0.5)

        rig.server.watch(NODE_OVERLAY).send("DELETED", OVERLAY)
        assert rig.heard.next(ObjectGone) == ObjectGone(kind=Kind.NODE_OVERLAY, key="own")

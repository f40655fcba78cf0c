"""Statements about objects that cannot be understood, and on which a pod or a node depends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.explain.explanation import Statement
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod


def unclear_of_pod(model: ClusterModel, pod: Pod) -> Iterator[Statement]:
    """Yield what is not understood of a pod, and of the objects that say where it may go and when."""
    if pod.unread:
        stays = "Its node is not given up by choice while it is there, and where it is, it is evicted."
        yield Statement("object", f"It is not understood: {pod.unread}.")
        yield Statement("object", stays if pod.node_name else "No node is bought for it.")
    budgets = (
        (Kind.POD_DISRUPTION_BUDGET, one.key)
        for _, one in sorted(model.objects.pod_budgets.all.items())
        if one.unread and one.selects(pod)
    )
    about = ((Kind.NAMESPACE, pod.namespace), *budgets, *_storage(model, pod))
    yield from _not_understood(model, about)


def unclear_of_node(model: ClusterModel, view: NodeView) -> Iterator[Statement]:
    """Yield what is not understood of a node, its claim, its pods, and the objects it is made from."""
    if view.unread:
        yield Statement("object", f"It is not understood: {view.unread}.")
        yield Statement("object", "It is left alone until it is, or goes for a reason that is not ours.")
    for pod in model.objects.pods_of(view):
        if pod.unread:
            kept = "the node is not given up by choice while it is there"
            yield Statement("pods", f"Pod {pod.key} is not understood, and {kept}: {pod.unread}.")
    about = [(Kind.CSI_NODE, view.node_name)]
    if view.claim is not None:
        about += [(Kind.NODE_POOL, view.claim.pool), (Kind.NODE_CLASS, str(view.claim.node_class))]
    daemons = sorted(at for at in model.objects.aside if at[0] is Kind.DAEMON_SET)
    yield from _not_understood(model, (*about, *daemons))


def _storage(model: ClusterModel, pod: Pod) -> Iterator[tuple[Kind, str]]:
    for volume in pod.spec.volumes:
        if volume.driver:
            continue
        key = pod.claim_key(volume)
        yield Kind.PERSISTENT_VOLUME_CLAIM, key
        claim = model.objects.storage.claims.get(key)
        if claim is not None and claim.volume_name:
            yield Kind.PERSISTENT_VOLUME, claim.volume_name
        by = volume.storage_class if claim is None else claim.storage_class
        if by:
            yield Kind.STORAGE_CLASS, by


def _not_understood(model: ClusterModel, about: Iterable[tuple[Kind, str]]) -> Iterator[Statement]:
    for at in dict.fromkeys(about):
        aside = model.objects.aside.get(at)
        if aside is not None:
            yield Statement("object", f"{aside.about} is not understood: {aside.problem}.")

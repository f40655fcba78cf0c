"""Operations on a pod: bind once, delete with grace."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from treenail.adapters.fake.cluster.objects import address, address_of
from treenail.adapters.fake.cluster.store import Store, check_uid
from treenail.domain.model.errors import ConflictError
from treenail.domain.model.pods import Pod


def pod_called(store: Store, namespace: str, name: str, uid: str) -> Pod:
    """Return a pod by name and uid.

    Raises:
        NotFoundError: there is none of this name.
        ConflictError: the one there is has another uid.
    """
    pod = store.get(Pod, address("Pod", name, namespace))
    check_uid(pod, uid)
    return pod


def bind(store: Store, pod: Pod, node_name: str) -> Pod:
    """Bind a pod to a node. As in the API, it is not checked that the node exists.

    Raises:
        ConflictError: it has one, or is being deleted, or is not to be scheduled yet.
    """
    if pod.node_name:
        raise ConflictError(f"Pod {pod.key} is bound to node {pod.node_name} already")
    if pod.deleting_since is not None:
        raise ConflictError(f"Pod {pod.key} is being deleted")
    if pod.spec.scheduling_gates:
        raise ConflictError(f"Pod {pod.key} has scheduling gates: {', '.join(pod.spec.scheduling_gates)}")
    bound = replace(
        pod, node_name=node_name, nominated_node="", scheduled_at=store.now(), unschedulable_since=None
    )
    return store.put(bound)


def delete(store: Store, pod: Pod, grace_seconds: int) -> None:
    """Delete a pod: at once where nothing runs or no grace is given, else by its kubelet.

    As in the API, a pod being deleted has the time at which its grace ends, which can only get earlier.
    """
    if not pod.node_name or pod.terminal or grace_seconds <= 0:
        store.remove(address_of(pod))
        return
    ends_at = store.now() + timedelta(seconds=grace_seconds)
    if pod.deleting_since is None or ends_at < pod.deleting_since:
        store.put(replace(pod, deleting_since=ends_at))

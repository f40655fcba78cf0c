"""Writes of pods: bind, evict, delete."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.resources import POD
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError

# How the API server words that it cannot tell whether an eviction is allowed. It answers 500 then.
_SEVERAL_BUDGETS: Final = "more than one PodDisruptionBudget"


def binding(namespace: str, name: str, uid: str, node: str) -> Tree:
    """Return the Binding of a pod to a node. Its uid is a precondition."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": namespace, "name": name, "uid": uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def eviction(namespace: str, name: str, uid: str) -> Tree:
    """Return the Eviction of a pod, with its own grace."""
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": namespace, "name": name},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }


class PodWrites:
    """One request each."""

    def __init__(self, calls: ApiCalls) -> None:
        self._calls = calls

    def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind a pod. As for the scheduler, the API server does not look whether the node is there.

        Raises:
            ConflictError: it is bound already, or deleting, or gated, or another pod of that name.
        """
        self._calls.create(POD.path(name, namespace, "binding"), binding(namespace, name, uid, node))

    def evict(self, namespace: str, name: str, uid: str) -> None:
        """Evict a pod.

        Raises:
            TooManyRequestsError: a disruption budget forbids it now, or it has several.
        """
        path = POD.path(name, namespace, "eviction")
        try:
            self._calls.create(path, eviction(namespace, name, uid))
        except UnavailableError as error:
            if _SEVERAL_BUDGETS in str(error):
                raise TooManyRequestsError(str(error)) from None
            raise

    def delete(self, namespace: str, name: str, uid: str, grace_seconds: int) -> None:
        """Delete a pod."""
        self._calls.delete(POD.path(name, namespace), uid=uid, grace_seconds=grace_seconds)

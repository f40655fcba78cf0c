"""What a cluster holds now, and the events about one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

import msgspec

from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import EVENT
from treenail.domain.cluster import ClusterModel
from treenail.domain.cluster_facts import ClusterFact, Resynced
from treenail.domain.instants import read_instant
from treenail.domain.ports import PortError

_LONGEST_SECONDS: Final = 60.0
# What a promise on a node in use would hold for, which nobody here waits for.
_PROMISE_LASTS: Final = timedelta(seconds=20)
_MOST_EVENTS: Final = 500


@dataclass(frozen=True, slots=True, order=True)
class ToldEvent:
    """An event about an object, as people read it; `at` is when it came last."""

    at: datetime
    about: str
    reason: str
    message: str
    count: int = 1


class LiveCluster:
    """A cluster that is looked at once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, kubeconfig: Path | None, context: str | None) -> LiveCluster:
        """Return the cluster of a kubeconfig, by default of the usual one.

        Raises:
            BadInputError: it says nothing usable.
        """
        usual = Path.home() / ".kube/config"
        try:
            return cls(Connection.open(kubeconfig=kubeconfig or usual, context=context, qps=1, burst=1))
        except NotConnectedError as error:
            raise BadInputError(str(error)) from None

    def model(self) -> ClusterModel:
        """Return all there is.

        Raises:
            BadInputError: it cannot be read.
        """
        facts: SimpleQueue[ClusterFact | BaseException] = SimpleQueue()
        said: list[str] = []

        def log(message: str, /, **fields: object) -> None:
            said.append(" ".join((message, *(f"{name}={value}" for name, value in fields.items()))))

        reader = KubernetesReader(self._connection, congested=lambda: False, failed=facts.put, log=log)
        reader.feed(_Into(facts))
        try:
            fact = facts.get(timeout=_LONGEST_SECONDS)
        except Empty:
            why = said[-1] if said else "no answer"
            raise BadInputError(f"the cluster cannot be read: {why}") from None
        finally:
            reader.stop()
        if not isinstance(fact, Resynced):
            raise BadInputError(f"the cluster cannot be read: {fact}")
        model = ClusterModel(promise_lasts=_PROMISE_LASTS)
        model.learn(fact, datetime.now(UTC))
        return model

    def events(self, name: str, namespace: str = "") -> tuple[ToldEvent, ...]:
        """Return the events about objects of that name, the latest last.

        Raises:
            BadInputError: they cannot be read.
        """
        query = {"fieldSelector": f"involvedObject.name={name}", "limit": str(_MOST_EVENTS)}
        try:
            body = self._connection.request("GET", EVENT.path(namespace=namespace or None), query=query)
            items = msgspec.json.decode(body).get("items") or ()
        except (PortError, msgspec.DecodeError) as error:
            raise BadInputError(f"the events about {name} cannot be read: {error}") from None
        told = (_told(item) for item in items if _about(item) != "Pod" or namespace)
        return tuple(sorted(event for event in told if event is not None))


@dataclass(frozen=True, slots=True)
class _Into:
    """Where facts go."""

    facts: SimpleQueue[ClusterFact | BaseException]

    def tell(self, message: ClusterFact, /) -> None:
        self.facts.put(message)


def _about(item: Mapping[str, Any]) -> str:
    return str(item.get("involvedObject", {}).get("kind", ""))


def _told(item: Mapping[str, Any]) -> ToldEvent | None:
    series = item.get("series") or {}
    times = (item.get("lastTimestamp"), series.get("lastObservedTime"), item.get("eventTime"))
    at = next((at for text in times if text and (at := read_instant(str(text))) is not None), None)
    if at is None:
        return None
    return ToldEvent(
        at=at,
        about=_about(item),
        reason=str(item.get("reason") or ""),
        message=str(item.get("message") or ""),
        count=int(item.get("count") or series.get("count") or 1),
    )

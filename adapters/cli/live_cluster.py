"""Objects of a live cluster, and the events about one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Self

import msgspec

from treenail.adapters.cli.kubeconfig import connect
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.errors import ForbiddenError
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import (
    CAPACITY_BUFFER,
    DISPENSABLE,
    EVENT,
    NODE_OVERLAY,
    WATCHED,
    watched,
)
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import ClusterFact, Kind, ObjectSetAside, Resynced
from treenail.domain.model.errors import PortError
from treenail.domain.model.instants import read_instant

_LONGEST_SECONDS: Final = 60.0
_FIRST_ANSWER_SECONDS: Final = 10.0
# How long a promise on a node in use lasts; nothing here waits for it.
_PROMISE_LASTS: Final = timedelta(seconds=20)
_MOST_EVENTS: Final = 500
_PODS: Final = ("Pod",)
_NODES: Final = ("Node", "NodeClaim", "Machine")


@dataclass(frozen=True, slots=True, order=True)
class ToldEvent:
    """An event about an object, as people read it; `at` is when it came last."""

    at: datetime
    about: str
    reason: str
    message: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class ClusterContents:
    """The contents of a cluster: the model, and the objects `set_aside`, which the model does not have."""

    model: ClusterModel
    set_aside: tuple[ObjectSetAside, ...] = ()

    @property
    def knows_claims(self) -> bool:
        """True if a node that no claim is known of has none."""
        return all(one.kind is not Kind.NODE_CLAIM for one in self.set_aside)

    def problems(self, kinds: Collection[Kind], names: Collection[str], namespace: str = "") -> list[str]:
        """Return what is wrong with those that could not be understood, in the order of their names."""
        found = [
            (one.about.name, one.about.kind, one.problem)
            for one in self.set_aside
            if one.kind in kinds and one.about.name in names and one.about.namespace == namespace
        ]
        return [problem for _, _, problem in sorted(found)]


@dataclass(frozen=True, slots=True)
class FollowedCluster:
    """A cluster that is watched: `contents` were there at first, and are there after each `learn`."""

    contents: ClusterContents
    facts: SimpleQueue[ClusterFact | BaseException]

    def learn(self) -> bool:
        """Take in what came since; return whether anything did.

        Raises:
            BadInputError: the cluster cannot be read any more.
        """
        news = False
        while True:
            try:
                fact = self.facts.get_nowait()
            except Empty:
                return news
            if isinstance(fact, BaseException):
                raise BadInputError(f"the cluster cannot be read: {fact}")
            self.contents.model.learn(fact, datetime.now(UTC))
            self.contents.model.take_changes()
            news = True


class LiveCluster:
    """A cluster that is looked at once, or followed, and then let go of."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, kubeconfig: Path | None, context: str | None) -> LiveCluster:
        """Return the cluster of a kubeconfig, by default of the usual one.

        Raises:
            BadInputError: it says nothing usable.
        """
        try:
            return cls(connect(kubeconfig, context))
        except NotConnectedError as error:
            raise BadInputError(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def look(self, *, overlays: bool = False, buffers: bool = False) -> ClusterContents:
        """Return all there is, node overlays and capacity buffers only if wanted.

        Raises:
            BadInputError: it cannot be read.
        """
        with self.follow(overlays=overlays, buffers=buffers) as followed:
            return followed.contents

    @contextmanager
    def follow(self, *, overlays: bool = False, buffers: bool = False) -> Iterator[FollowedCluster]:
        """Give all there is, and what becomes of it while the context lasts.

        Raises:
            BadInputError: it cannot be read.
        """
        self._ask()
        facts: SimpleQueue[ClusterFact | BaseException] = SimpleQueue()
        said: list[str] = []

        def log(message: str, /, **fields: object) -> None:
            said.append(" ".join((message, *(f"{name}={value}" for name, value in fields.items()))))

        gates = {NODE_OVERLAY.kind: overlays, CAPACITY_BUFFER.kind: buffers}
        reader = KubernetesReader(
            self._connection,
            congested=lambda: False,
            failed=facts.put,
            log=log,
            forbidden=facts.put,
            watched=watched(workloads=False, gates=gates),
        )
        reader.feed(_Into(facts))
        try:
            try:
                fact = facts.get(timeout=_LONGEST_SECONDS)
            except Empty:
                why = said[-1] if said else "no answer"
                raise BadInputError(f"the cluster cannot be read: {why}") from None
            if isinstance(fact, ForbiddenError):
                raise BadInputError(f"the cluster cannot be read: {self._forbidden() or fact}")
            if not isinstance(fact, Resynced):
                raise BadInputError(f"the cluster cannot be read: {fact}")
            model = ClusterModel(promise_lasts=_PROMISE_LASTS)
            model.learn(fact, datetime.now(UTC))
            yield FollowedCluster(ClusterContents(model, fact.set_aside), facts)
        finally:
            reader.stop()

    def _ask(self) -> None:
        """Raise BadInputError where no API server answers: the reader would try for as long as it may."""
        try:
            msgspec.json.decode(
                self._connection.request("GET", "/version", timeout=_FIRST_ANSWER_SECONDS), type=_Version
            )
        except ForbiddenError:
            return
        except PortError as error:
            raise BadInputError(f"the cluster cannot be read: {error}") from None
        except msgspec.DecodeError:
            problem = "what answers GET /version is no API server"
            raise BadInputError(f"the cluster cannot be read: {problem}") from None

    def _forbidden(self) -> str:
        """Return what the API server says of each list that we need and may not have."""
        said: list[str] = []
        for resource in WATCHED:
            if resource in DISPENSABLE:
                continue
            try:
                self._connection.request("GET", resource.path(), query={"limit": "1"})
            except ForbiddenError as error:
                said.append(str(error))
            except PortError:
                continue
        return "; ".join(said)

    def events(self, name: str, namespace: str = "") -> tuple[ToldEvent, ...]:
        """Return the events about a pod of that name, the latest last.

        Without a namespace they are about nodes and their claims.

        Raises:
            BadInputError: they cannot be read.
        """
        query = {"fieldSelector": f"involvedObject.name={name}", "limit": str(_MOST_EVENTS)}
        try:
            body = self._connection.request("GET", EVENT.path(namespace=namespace or None), query=query)
            items = msgspec.json.decode(body, type=_Events).items or ()
        except (PortError, msgspec.DecodeError) as error:
            raise BadInputError(f"the events about {name} cannot be read: {error}") from None
        kinds = _PODS if namespace else _NODES
        told = (_told(item) for item in items if item.involved_object.kind in kinds)
        return tuple(sorted(event for event in told if event is not None))


@dataclass(frozen=True, slots=True)
class _Into:
    """A reference that puts facts into a queue."""

    facts: SimpleQueue[ClusterFact | BaseException]

    def tell(self, message: ClusterFact, /) -> None:
        self.facts.put(message)


class _Version(msgspec.Struct, rename="camel"):
    git_version: str


class _Involved(msgspec.Struct):
    kind: str = ""


class _Series(msgspec.Struct, rename="camel"):
    last_observed_time: str | None = None
    count: int | None = None


class _Event(msgspec.Struct, rename="camel"):
    involved_object: _Involved = msgspec.field(default_factory=_Involved)
    last_timestamp: str | None = None
    event_time: str | None = None
    series: _Series | None = None
    reason: str | None = None
    message: str | None = None
    count: int | None = None


class _Events(msgspec.Struct):
    items: list[_Event] | None = None


def _told(item: _Event) -> ToldEvent | None:
    series = item.series or _Series()
    times = (item.last_timestamp, series.last_observed_time, item.event_time)
    at = next((at for text in times if text and (at := read_instant(text)) is not None), None)
    if at is None:
        return None
    return ToldEvent(
        at=at,
        about=item.involved_object.kind,
        reason=item.reason or "",
        message=item.message or "",
        count=item.count or series.count or 1,
    )

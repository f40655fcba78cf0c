"""InstanceTagger: tags instances with the names of their node and claim."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.work_queue import Look, WorkQueue
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.lifecycle.tagging import TAGGED_PATCH, missing_tags, untagged
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import Instance
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Failed, Outcome, TaskKey
from treenail.domain.ports import Cloud, ClusterWriter

# Nodes that join within this time are looked at together.
_GATHER_SECONDS: Final = 2.0
# Half of EC2's limit: others of the account need the rest.
_PACE_SECONDS: Final = 0.2
_BACKOFF: Final = Backoff(first=10.0, longest=600.0)
_KEY: Final[TaskKey] = ("ec2", "tags")


@dataclass(frozen=True, slots=True)
class _Sweep:
    """Private timer tick: look up missing tags of the next instances."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """The instances there are, or why they could not be listed."""

    outcome: Outcome[tuple[Instance, ...]]


@dataclass(frozen=True, slots=True)
class _Next:
    """Private timer tick: tag the next instance."""


@dataclass(frozen=True, slots=True)
class _Tagged:
    """An instance was given its tags and its claim says so, or not."""

    name: str
    outcome: Outcome[object]


TaggerInbox: TypeAlias = NodeChanged | Look | _Sweep | _Listed | _Next | _Tagged


class InstanceTagger(DomainActor[TaggerInbox]):
    """Tag the instance of every node that has joined with the names of the node and of its claim.

    Owns the claims whose instances may lack tags; that one lacks none stands on the claim, so that a
    restart goes on. One call at a time, five a second at most: nobody waits for this.
    """

    def __init__(self, runtime: Runtime, *, writer: ClusterWriter, cloud: Cloud) -> None:
        super().__init__(runtime)
        self._writer = writer
        self._cloud = cloud
        self._untagged: dict[str, NodeClaim] = {}
        self._work = WorkQueue(self, Look, _BACKOFF)
        # `_due` are claims for the next sweep; `_queue` is the rest of the present one.
        self._due: dict[str, None] = {}
        self._queue: deque[str] = deque()
        self._tags: Mapping[str, Mapping[str, str]] = {}
        self._busy = False

    def handle(self, message: TaggerInbox) -> None:
        match message:
            case NodeChanged():
                self._note(message)
            case Look(name=name):
                self._look(name)
            case _Sweep():
                self._sweep()
            case _Listed():
                self._listed(message.outcome)
            case _Next():
                self._next()
            case _Tagged():
                self._tagged(message)
            case _:
                assert_never(message)

    def _note(self, changed: NodeChanged) -> None:
        claim = untagged(changed.view) if not changed.untouched else None
        if claim is None:
            self._forget(changed.name)
            return
        news = claim.name not in self._untagged
        self._untagged[claim.name] = claim
        if news:
            self._look(claim.name)

    def _forget(self, name: str) -> None:
        self._untagged.pop(name, None)
        self._due.pop(name, None)
        self._work.forget(name)

    def _look(self, name: str) -> None:
        self._due[name] = None
        if not self._busy:
            self._gather()

    def _gather(self) -> None:
        """Sweep soon, with what comes until then; nothing where nothing is due."""
        self._busy = bool(self._due)
        if self._busy:
            self.later("sweep", _Sweep(), seconds=_GATHER_SECONDS)

    def _sweep(self) -> None:
        self._queue, self._due = deque(sorted(self._due)), {}
        self._busy = bool(self._queue)
        if self._busy:
            self._tasks.run(_KEY, self._cloud.instances, self.me, _Listed, purpose=Purpose.HOUSEKEEPING)

    def _listed(self, outcome: Outcome[tuple[Instance, ...]]) -> None:
        match outcome:
            case Done(value=instances):
                self._tags = {one.id: one.tags for one in instances}
                self._next()
            case Failed():
                self._tags = {}
                self._next()
            case _:
                assert_never(outcome)

    def _next(self) -> None:
        while self._queue:
            claim = self._untagged.get(self._queue.popleft())
            tags = self._tags.get(claim.instance_id) if claim is not None else None
            if claim is not None and tags is not None:
                self._tag(claim, tags)
                return
            if claim is not None:  # It is not to be seen yet, or gone: then so will its claim be.
                self._work.retry(claim.name)
        self._gather()

    def _tag(self, claim: NodeClaim, tags: Mapping[str, str]) -> None:
        name, call = claim.name, self._call(claim, tags)
        self._tasks.run(
            _KEY, call, self.me, lambda outcome: _Tagged(name, outcome), purpose=Purpose.HOUSEKEEPING
        )

    def _call(self, claim: NodeClaim, tags: Mapping[str, str]) -> Callable[[], object]:
        missing = missing_tags(claim, tags)

        def call() -> object:
            if missing:
                self._cloud.tag(claim.instance_id, missing)
            return self._writer.patch_claim(claim.name, TAGGED_PATCH)

        return call

    def _tagged(self, tagged: _Tagged) -> None:
        match tagged.outcome:
            case Done():
                self._forget(tagged.name)
            case Failed(error=error):
                if isinstance(error, InvalidError) and not self._work.failures(tagged.name):
                    self.log("cannot tag instance", nodeclaim=tagged.name, error=str(error))
                if tagged.name in self._untagged:
                    self._work.retry(tagged.name)
            case _:
                assert_never(tagged.outcome)
        self.later("next", _Next(), seconds=_PACE_SECONDS)

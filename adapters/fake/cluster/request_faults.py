"""Faults between client and API server: requests fail, answers get lost, others write first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, ParamSpec, TypeVar

from treenail.adapters.fake.cluster.control_plane import ControlPlane
from treenail.adapters.fake.cluster.objects import Address
from treenail.adapters.fake.cluster.settings import ClusterFaults
from treenail.adapters.fake.luck import chance
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.pods import Pod

P = ParamSpec("P")
R = TypeVar("R")

_TOUCHED: Final = "example.com/touched-at-revision"


class RequestFaults:
    """Lets requests through, or not, or has somebody else go first."""

    def __init__(self, plane: ControlPlane, faults: Callable[[], ClusterFaults]) -> None:
        self._agenda = plane.agenda
        self._dice = plane.fork()
        self._store = plane.store
        self._faults = faults
        self._closed_until = 0.0

    def close(self, until: float) -> None:
        """Let nothing through before monotonic second `until`."""
        self._closed_until = until

    def read(self, request: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let a request pass that changes nothing.

        Raises:
            UnavailableError: it did not pass.
        """
        if self._agenda.monotonic() < self._closed_until or chance(self._dice, self._faults().unavailable):
            raise UnavailableError("the API server does not answer")
        return request(*args, **kwargs)

    def write(self, about: Address | None, request: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Let a request pass that changes the object at `about`.

        Raises:
            UnavailableError: it did not pass, or its answer got lost.
        """
        faults = self._faults()
        if about is not None and chance(self._dice, faults.conflict):
            self._touch(about)
        answer = self.read(request, *args, **kwargs)
        if chance(self._dice, faults.answer_lost):
            raise UnavailableError("the API server's answer got lost")
        return answer

    def _touch(self, where: Address) -> None:
        thing = self._store.find(where)
        if isinstance(thing, Pod | Node | NodeClaim):
            mark = {_TOUCHED: str(self._store.revision)}
            self._store.put(replace(thing, annotations={**thing.annotations, **mark}))

"""Hears from the API server what becomes of pods, for as long as it is there."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from tests.real.parts.control_plane import ControlPlane
from tests.real.system.pod_witness import PodWitness
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.stream import Stream
from treenail.domain.model.errors import PortError

_PODS: Final = "/api/v1/namespaces/default/pods"
_IDLE_SECONDS: Final = 600.0
_AGAIN_SECONDS: Final = 0.1


class Bystander:
    """A witness of all pods of namespace default, told by a watch in a thread. Use it as a context manager.

    A watch that breaks goes on where it was; one that cannot is a wrong of its own.
    """

    def __init__(self, plane: ControlPlane, least: Mapping[str, int]) -> None:
        self.witness = PodWitness(least)
        self._api = Connection.open(kubeconfig=plane.kubeconfig, qps=100, burst=200)
        self._stopping = threading.Event()
        self._stream: Stream | None = None
        self._version = ""

    def __enter__(self) -> Self:
        there = json.loads(self._api.request("GET", _PODS))
        assert not there["items"], "it has to see all pods from their beginning"
        self._version = there["metadata"]["resourceVersion"]
        self._thread = threading.Thread(target=self._run, name="bystander", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        if self._stream is not None:
            self._stream.close()
        self._thread.join()
        self._api.close()

    # --- in its thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch()
            except PortError:
                self._stopping.wait(_AGAIN_SECONDS)

    def _watch(self) -> None:
        """Hear what there is from the version on that was heard last, until the watch ends."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": self._version}
        with self._api.stream(_PODS, query=query, idle_timeout=_IDLE_SECONDS, opening=self._attend) as lines:
            for line in lines:
                told = json.loads(line)
                if told["type"] == "ERROR":
                    self.witness.wrongs.append(f"the watch was lost: {told['object']}")
                    self._stopping.set()
                    return
                self._version = told["object"]["metadata"]["resourceVersion"]
                if told["type"] != "BOOKMARK":
                    self.witness.hear(told["object"], datetime.now(UTC), gone=told["type"] == "DELETED")

    def _attend(self, stream: Stream) -> None:
        self._stream = stream
        if self._stopping.is_set():
            stream.close()

"""A real Jaeger on free loopback ports, its traces in memory."""

from __future__ import annotations

import json
import time
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import urllib3

from tests.real.parts import binaries
from tests.real.parts.loopback import answers, free_ports
from tests.real.parts.processes import Processes, Program

CONFIG: Final = binaries.HERE / "jaeger.yaml"
PORTS: Final = ("QUERY_PORT", "QUERY_GRPC_PORT", "OTLP_HTTP_PORT", "OTLP_GRPC_PORT")


class Jaeger:
    """Takes spans as OTLP and gives traces back by Jaeger's query API, in Jaeger's JSON.

    A trace is `{"traceID", "processes", "spans": [{"spanID", "operationName", "references", "tags"}]}`,
    with more fields. It can be read some 0.1 s after the exporter has flushed it.
    """

    def __init__(self) -> None:
        """Make it without starting it.

        Raises:
            NotBuiltError: Jaeger is not built.
        """
        binaries.require("jaeger")
        self._port = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        self.url = f"http://127.0.0.1:{self._port['QUERY_PORT']}"
        self.otlp_http = f"http://127.0.0.1:{self._port['OTLP_HTTP_PORT']}"

    def start(self) -> Self:
        self._pool = urllib3.PoolManager()
        self._processes = Processes()
        try:
            self._processes.start(
                Program(
                    name="jaeger",
                    command=[binaries.program("jaeger"), f"--config={CONFIG}"],
                    ready=lambda: answers(f"{self.url}/api/services") and self._takes_spans(),
                    env={name: str(port) for name, port in self._port.items()},
                )
            )
            self._processes.wait("jaeger")
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        self._pool.clear()
        self._processes.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop_part(self) -> None:
        """End Jaeger; its traces are lost, its ports kept."""
        self._processes.stop("jaeger")

    def start_part(self) -> None:
        """Start a stopped Jaeger again, empty."""
        self._processes.start_again("jaeger")

    def pause_part(self) -> None:
        """Let Jaeger stand still: it takes connections, and answers nothing."""
        self._processes.pause("jaeger")

    def resume_part(self) -> None:
        self._processes.go_on("jaeger")

    def last_lines(self, count: int = 20) -> str:
        return self._processes.last_lines("jaeger", count)

    def services(self) -> tuple[str, ...]:
        """Return the names of the services that sent spans, sorted."""
        return tuple(sorted(self._get("/api/services") or ()))

    def trace(self, trace_id: str, *, spans: int = 1, patience: float = 5.0) -> dict[str, Any]:
        """Return a trace by its id (32 hex digits), once it has at least so many spans.

        After `patience` seconds it is returned as it is, or as {} when it is not there.
        """
        deadline = time.monotonic() + patience
        while True:
            found = self._get(f"/api/traces/{trace_id}") or [{}]
            trace: dict[str, Any] = found[0]
            if len(trace.get("spans", ())) >= spans or time.monotonic() > deadline:
                return trace
            time.sleep(0.05)

    def find(
        self,
        *,
        service: str,
        operation: str | None = None,
        tags: dict[str, str] | None = None,
        limit: int = 1000,
    ) -> list[dict[str, Any]]:
        """Return the traces in which `service` recorded a span, narrowed by its name and its tags."""
        query: dict[str, str | int] = {"service": service, "limit": limit}
        if operation:
            query["operation"] = operation
        if tags:
            query["tags"] = json.dumps(tags)
        return list(self._get(f"/api/traces?{urlencode(query)}") or ())

    def _takes_spans(self) -> bool:
        nothing = {"Content-Type": "application/json"}
        try:
            return (
                self._pool.request(
                    "POST", f"{self.otlp_http}/v1/traces", body=b"{}", headers=nothing, retries=False
                ).status
                == 200
            )
        except urllib3.exceptions.HTTPError:
            return False

    def _get(self, path: str) -> Any:
        """Return the `data` of an answer, None where nothing is found."""
        answer = self._pool.request("GET", self.url + path, timeout=10, retries=False)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise ValueError(f"Jaeger answered {answer.status} to {path}: {answer.data[:500]!r}")
        return answer.json()["data"]

"""Our conversion webhook in this process, looked after turn by turn by a clock that a test moves."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import urllib3

from tests.real.kubernetes.definitions import CRDS, ok
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.controller.webhook.review import answer
from treenail.adapters.controller.webhook.server import PATH, ConversionServer
from treenail.adapters.controller.webhook.upkeep import Address, WebhookUpkeep
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.definitions import CONVERTED, Definitions
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.shared_secret import SECRET, SharedSecret
from treenail.domain.model.errors import PortError

NAMESPACE: Final = "default"
NAME: Final = "treenail-webhook"


class HandClock:
    """The time, and what a test adds to it."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        raise AssertionError("nobody asks")


class Replica:
    """One replica's webhook, which the API server reaches by URL. `said` are its log lines."""

    def __init__(self, plane: ControlPlane, *, port: int = 0) -> None:
        self.clock = HandClock()
        self.said: list[str] = []
        self.defects: list[BaseException] = []
        self._connection = Connection.open(kubeconfig=plane.kubeconfig, qps=10_000, burst=10_000)
        self.server = ConversionServer(
            port,
            partial(answer, defect=self.defects.append),
            failed=self.defects.append,
            lost=lambda losses: self.said.append(f"connections closed: {losses}"),
        )
        calls = ApiCalls(self._connection)
        url = f"https://127.0.0.1:{self.server.port}{PATH}"
        self._upkeep = WebhookUpkeep(
            address=Address(place={"url": url}, names=("127.0.0.1",)),
            secret=SharedSecret(calls, name=NAME, namespace=NAMESPACE),
            definitions=Definitions(calls),
            present=self.server.present,
            clock=self.clock,
            log=self._log,
        )

    def turn(self) -> bool:
        return self._upkeep.turn()

    def settle(self) -> None:
        """Take turns until all is well; what the API server refuses meanwhile is tried again."""
        for _ in range(20):
            try:
                if self.turn():
                    return
            except PortError as error:
                self.said.append(str(error))
        raise AssertionError(f"never well: {self.said[-5:]}")

    def close(self) -> None:
        self.server.stop()
        self._connection.close()
        assert self.defects == []

    def _log(self, message: str, /, **fields: object) -> None:
        self.said.append(f"{message} {json.dumps(fields, default=str)}")


def forget_authority(plane: ControlPlane) -> None:
    """Delete the Secret that replicas share."""
    plane.request("DELETE", SECRET.path(NAME, NAMESPACE))


def bundles(plane: ControlPlane) -> set[bytes]:
    """What the definitions hold certificates against."""
    clients = [
        ok(plane.request("GET", f"{CRDS}/{resource}"))["spec"]["conversion"]["webhook"]["clientConfig"]
        for resource in CONVERTED
    ]
    return {base64.b64decode(client["caBundle"]) for client in clients}


def stored(plane: ControlPlane, resource: Resource) -> dict[str, dict[str, Any]]:
    """The objects of a kind as etcd has them, by name."""
    prefix = f"/registry/{resource.api_version.partition('/')[0]}/{resource.plural}/".encode()
    asked = {
        "key": base64.b64encode(prefix).decode(),
        "range_end": base64.b64encode(prefix[:-1] + b"0").decode(),
    }
    got = urllib3.request(
        "POST", f"http://127.0.0.1:{plane._port['etcd']}/v3/kv/range", json=asked, timeout=30
    ).json()
    objects = [json.loads(base64.b64decode(kv["value"])) for kv in got.get("kvs", ())]
    return {each["metadata"]["name"]: each for each in objects}


def v1beta1(resource: Resource) -> Resource:
    """The same kind in the version of before."""
    group = resource.api_version.partition("/")[0]
    return Resource(resource.kind, f"{group}/v1beta1", resource.plural)

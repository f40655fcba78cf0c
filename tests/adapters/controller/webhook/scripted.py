"""An API server in memory, as far as the upkeep of the webhook asks it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from treenail.adapters.controller.webhook.certificates import Certificate
from treenail.adapters.controller.webhook.server import PATH
from treenail.adapters.controller.webhook.upkeep import Address, WebhookUpkeep
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.definitions import CONVERTED, CUSTOM_RESOURCE_DEFINITION, Definitions
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.shared_secret import SECRET, SharedSecret
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, NotFoundError, PortError

Tree = dict[str, Any]

BEGUN: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
SERVICE: Final = {
    "service": {"name": "treenail", "namespace": "kube-system", "path": "/convert", "port": 8443}
}
ADDRESS: Final = Address(place=SERVICE, names=("treenail.kube-system.svc",))
SECRET_PATH: Final = SECRET.path("treenail-webhook", "kube-system")


class HandClock:
    def __init__(self) -> None:
        self.time = BEGUN

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return (self.time - BEGUN).total_seconds()

    def pass_days(self, days: float) -> None:
        self.time += timedelta(days=days)


class Server:
    """Objects by path, with revisions that patches may ask for. `refusals` are raised by path, once each."""

    def __init__(self) -> None:
        self.objects: dict[str, Tree] = {}
        self.refusals: dict[str, list[PortError]] = {}
        self.before: Callable[[str, str], object] = lambda _method, _path: None
        self.writes: list[tuple[str, str]] = []
        self._revision = 0

    def define(self, resource: Resource, *, stored: tuple[str, ...] = ("v1",)) -> None:
        versions = [{"name": "v1beta1", "storage": False}, {"name": "v1", "storage": True}]
        webhook = {"clientConfig": {"service": {"name": "treenail", "namespace": "x", "path": PATH}}}
        self.put(
            definition_path(resource),
            {
                "spec": {"versions": versions, "conversion": {"strategy": "Webhook", "webhook": webhook}},
                "status": {"storedVersions": [*stored]},
            },
        )

    def put(self, path: str, thing: Tree) -> None:
        self._revision += 1
        metadata = {"name": path.rpartition("/")[2], **thing.get("metadata", {})}
        metadata["resourceVersion"] = str(self._revision)
        self.objects[path] = {**thing, "metadata": metadata}

    def request(
        self, method: str, path: str, *, body: bytes | None = None, content_type: str = "application/json"
    ) -> bytes:
        del content_type
        self.before(method, path)
        where = urlsplit(path).path
        if self.refusals.get(where):
            raise self.refusals[where].pop(0)
        told: Tree = json.loads(body) if body else {}
        match method:
            case "GET":
                return json.dumps(self._got(where)).encode()
            case "POST":
                where = f"{where}/{told['metadata']['name']}"
                if where in self.objects:
                    raise AlreadyExistsError(where)
                self.writes.append((method, where))
                self.put(where, told)
            case _ if "dryRun=All" in path:
                pass
            case _:
                self._patch(where, told)
                self.writes.append((method, where))
        return b"{}"

    def _got(self, path: str) -> Tree:
        if path in self.objects:
            return self.objects[path]
        if path in {resource.path() for resource in CONVERTED}:
            items = [thing for at, thing in self.objects.items() if at.rpartition("/")[0] == path]
            return {"metadata": {}, "items": items}
        raise NotFoundError(path)

    def _patch(self, path: str, told: Tree) -> None:
        path = path.removesuffix("/status")
        if path not in self.objects:
            raise NotFoundError(path)
        there = self.objects[path]
        asked = told.get("metadata", {}).get("resourceVersion")
        if asked not in (None, there["metadata"]["resourceVersion"]):
            raise ConflictError(path)
        self.put(path, merged(there, told))
        self._note_storage(path)

    def _note_storage(self, path: str) -> None:
        """Note of a definition in which version objects are stored from now on, as the API server does."""
        thing = self.objects[path]
        storage = [v["name"] for v in thing.get("spec", {}).get("versions", ()) if v["storage"]]
        known = thing.get("status", {}).get("storedVersions", ())
        if storage and storage[0] not in known:
            thing["status"] = {**thing["status"], "storedVersions": [*known, *storage]}


def merged(there: Any, told: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(told, dict):
        return told
    result = dict(there) if isinstance(there, dict) else {}
    for key, value in told.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def definition_path(resource: Resource) -> str:
    return CUSTOM_RESOURCE_DEFINITION.path(str(resource))


class Replica:
    """One replica: what it presented, the newest last, and what it said."""

    def __init__(self, server: Server, clock: HandClock) -> None:
        self.presented: list[Certificate] = []
        self.said: list[str] = []
        self.fields: list[dict[str, object]] = []
        self._server = server
        calls = ApiCalls(server)
        self._upkeep = WebhookUpkeep(
            address=ADDRESS,
            secret=SharedSecret(calls, name="treenail-webhook", namespace="kube-system"),
            definitions=Definitions(calls),
            present=self.presented.append,
            clock=clock,
            log=self._log,
        )

    def turn(self) -> bool:
        return self._upkeep.turn()

    @property
    def certificate(self) -> Certificate:
        return self.presented[-1]

    def _log(self, message: str, /, **fields: object) -> None:
        self.said.append(message)
        self.fields.append(fields)


def bundles(server: Server) -> list[bytes]:
    """What each definition trusts."""
    found = []
    for resource in CONVERTED:
        conversion = server.objects[definition_path(resource)]["spec"].get("conversion", {})
        client = conversion.get("webhook", {}).get("clientConfig", {})
        found.append(base64.b64decode(client.get("caBundle", "")))
    return found

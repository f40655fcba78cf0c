"""Custom resource definitions of our kinds: their conversion webhook and stored versions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.resources import EC2_NODE_CLASS, NODE_CLAIM, NODE_POOL, Resource
from treenail.domain.model.errors import NotFoundError, UnavailableError

CUSTOM_RESOURCE_DEFINITION: Final = Resource(
    "CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions"
)
# Those with more than one version.
CONVERTED: Final = (NODE_POOL, NODE_CLAIM, EC2_NODE_CLASS)
_NOTHING: Final[Mapping[str, Any]] = {}


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Version(msgspec.Struct):
    name: str
    storage: bool = False


class _Client(msgspec.Struct, rename={"ca_bundle": "caBundle"}):
    ca_bundle: str = ""
    url: str | None = None
    service: dict[str, Any] | None = None

    def reached_at(self) -> Mapping[str, Any]:
        return {"service": self.service} if self.service else {"url": self.url}


class _Webhook(msgspec.Struct, rename="camel"):
    client_config: _Client | None = None


class _Conversion(msgspec.Struct):
    strategy: str = "None"
    webhook: _Webhook | None = None


class _Spec(msgspec.Struct):
    versions: tuple[_Version, ...]
    conversion: _Conversion = msgspec.field(default_factory=_Conversion)


class _Status(msgspec.Struct, rename="camel"):
    stored_versions: tuple[str, ...] = ()


class _Read(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec
    status: _Status = msgspec.field(default_factory=_Status)


class _WholeSpec(msgspec.Struct):
    versions: list[dict[str, Any]]


class _Whole(msgspec.Struct):
    spec: _WholeSpec


_DECODER: Final = msgspec.json.Decoder(_Read)


class Definition:
    """A CustomResourceDefinition as it was read."""

    def __init__(self, resource: Resource, body: bytes) -> None:
        """Read what the API server answered; msgspec.DecodeError where that is no definition."""
        read = _DECODER.decode(body)
        self.resource = resource
        self.resource_version = read.metadata.resource_version
        self.versions = tuple(version.name for version in read.spec.versions)
        self.stored = read.status.stored_versions
        self._read = read
        self._body = body

    @property
    def written_versions(self) -> list[dict[str, Any]]:
        """The versions as they are written, schemas and all."""
        return msgspec.json.decode(self._body, type=_Whole).spec.versions

    @property
    def storage(self) -> str:
        """The version that objects are stored in when they are written, such as "v1"."""
        return next((v.name for v in self._read.spec.versions if v.storage), "")

    @property
    def ca_bundle(self) -> bytes:
        """The CA bundle that the webhook's certificate is checked against, PEM; empty where none is set."""
        try:
            return base64.b64decode(self._client.ca_bundle)
        except (binascii.Error, ValueError):
            return b""

    @property
    def webhook_path(self) -> str:
        """The path at which a webhook is asked, wherever it is; "" where none is asked."""
        if self._read.spec.conversion.strategy != "Webhook":
            return ""
        service = self._client.service or {}
        return str(service.get("path") or urlsplit(self._client.url or "").path)

    def is_converted_by(self, at: Mapping[str, Any], ca_bundle: bytes) -> bool:
        """True if a webhook is asked `at` a place, as a definition says it, that `ca_bundle` vouches for."""
        asked = self._read.spec.conversion.strategy == "Webhook"
        return asked and self._client.reached_at() == at and self.ca_bundle == ca_bundle

    @property
    def _client(self) -> _Client:
        webhook = self._read.spec.conversion.webhook
        return (webhook.client_config if webhook is not None else None) or _Client()


class Definitions:
    """Reads and writes definitions. A write of one that was changed since it was read is a ConflictError."""

    def __init__(self, calls: ApiCalls) -> None:
        self._calls = calls

    def read(self, resource: Resource) -> Definition | None:
        """Return the definition of a kind, None where there is none; PortError where none can be read."""
        path = CUSTOM_RESOURCE_DEFINITION.path(str(resource))
        try:
            body = self._calls.read(path)
        except NotFoundError:
            return None
        try:
            return Definition(resource, body)
        except msgspec.DecodeError as error:
            raise UnavailableError(f"GET {path}: the answer is no definition: {error}") from None

    def convert_by(self, definition: Definition, at: Mapping[str, Any], ca_bundle: bytes) -> None:
        """Have a definition's objects converted by the webhook `at` a place, trusted by `ca_bundle` (PEM)."""
        # Null removes: a place is a service or a URL, never both.
        place: Tree = {"url": None, "service": None, **at}
        client = {**place, "caBundle": base64.b64encode(ca_bundle).decode()}
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
        conversion = {"strategy": "Webhook", "webhook": webhook}
        self._merge(definition, "", {"spec": {"conversion": conversion}})

    def store_in(self, definition: Definition, version: str) -> None:
        """Have objects of a definition stored in a version that it serves, from the next write of each on."""
        versions = [{**one, "storage": one["name"] == version} for one in definition.written_versions]
        self._merge(definition, "", {"spec": {"versions": versions}})

    def stores_only(self, definition: Definition, version: str) -> None:
        """Note that no object of a definition is stored in another version any more."""
        self._merge(definition, "status", {"status": {"storedVersions": [version]}})

    def _merge(self, definition: Definition, subresource: str, patch: Tree) -> None:
        path = CUSTOM_RESOURCE_DEFINITION.path(str(definition.resource), subresource=subresource or None)
        precondition = {"resourceVersion": definition.resource_version}
        self._calls.merge(path, {"metadata": precondition, **patch})

"""The Secret that all replicas share."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.resources import Resource
from treenail.domain.model.errors import NotFoundError, UnavailableError

SECRET: Final = Resource("Secret", "v1", "secrets", namespaced=True)


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Read(msgspec.Struct):
    metadata: _Metadata
    data: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The data of the Secret when it was read. A value that is not base64 is kept as empty."""

    data: Mapping[str, bytes] = field(repr=False)
    resource_version: str


class SharedSecret:
    """One Secret. Writing it is refused, as a ConflictError, where another was faster."""

    def __init__(self, calls: ApiCalls, *, name: str, namespace: str, release: str = "") -> None:
        """Access the Secret `name`. A new one can be taken over by a Helm `release` of its namespace."""
        self._release = release
        self._calls = calls
        self._name = name
        self._namespace = namespace
        self._path = SECRET.path(name, namespace)

    def __str__(self) -> str:
        """Return "kube-system/treenail-webhook"."""
        return f"{self._namespace}/{self._name}"

    def read(self) -> Kept | None:
        """Return the data of the Secret, None if there is none; PortError where it cannot be read."""
        try:
            body = self._calls.read(self._path)
        except NotFoundError:
            return None
        try:
            read = msgspec.json.decode(body, type=_Read)
        except msgspec.DecodeError:
            raise UnavailableError(f"GET {self._path}: the answer is no Secret") from None
        return Kept(_decoded(read.data or {}), read.metadata.resource_version)

    def write(self, data: Mapping[str, bytes], over: Kept | None) -> None:
        """Write `data` in place of what was read; where nothing was, there must be none yet.

        Raises:
            AlreadyExistsError, ConflictError: another was faster.
            PortError: it cannot be written.
        """
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        if over is not None:
            self._calls.merge(
                self._path, {"metadata": {"resourceVersion": over.resource_version}, "data": encoded}
            )
            return
        self._calls.create(
            SECRET.path(namespace=self._namespace),
            {
                "apiVersion": SECRET.api_version,
                "kind": SECRET.kind,
                "metadata": {
                    "name": self._name,
                    "namespace": self._namespace,
                    **(_taken_over_by(self._release, self._namespace) if self._release else {}),
                },
                "type": "Opaque",
                "data": encoded,
            },
        )


def _taken_over_by(release: str, namespace: str) -> Tree:
    """Return the metadata without which Helm refuses to install what is there already."""
    return {
        "labels": {"app.kubernetes.io/managed-by": "Helm"},
        "annotations": {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace},
    }


def _decoded(data: Mapping[str, str]) -> dict[str, bytes]:
    decoded = {}
    for key, value in data.items():
        try:
            decoded[key] = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            decoded[key] = b""
    return decoded

"""A Lease of coordination.k8s.io, by which replicas agree on who decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.documents import read_page
from treenail.adapters.kubernetes.resources import MACHINE, NODE_CLAIM, Resource
from treenail.domain.leadership.lease import Lease
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError

LEASE: Final = Resource("Lease", "coordination.k8s.io/v1", "leases", namespaced=True)
_CLAIMS: Final = (NODE_CLAIM, replace(NODE_CLAIM, api_version="karpenter.sh/v1beta1"), MACHINE)


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _Read(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)


class KubernetesLease:
    """The port `LeaseStore`: the Lease `name` in `namespace`. What others keep in it stays."""

    def __init__(self, calls: ApiCalls, *, name: str, namespace: str) -> None:
        self._calls = calls
        self._name = name
        self._namespace = namespace
        self._path = LEASE.path(name, namespace)

    def read(self) -> Lease | None:
        """Return the lease as it is now; None where there is none."""
        try:
            return self._decoded(self._calls.read(self._path))
        except NotFoundError:
            return None

    def has_claims(self) -> bool:
        """Return whether there is a NodeClaim or Machine of any version, or whether that cannot be told."""
        return any(map(self._may_have, _CLAIMS))

    def _may_have(self, resource: Resource) -> bool:
        path = resource.path()
        try:
            return bool(read_page(self._calls.read(f"{path}?limit=1"), f"GET {path}").items)
        except NotFoundError:
            # The version is not served, or the kind not defined.
            return False
        except PortError:
            return True

    def write(self, lease: Lease, *, over: Lease | None) -> Lease:
        """Write the lease in place of `over`, or create it."""
        spec = {
            "holderIdentity": lease.holder,
            "leaseDurationSeconds": lease.seconds,
            "acquireTime": lease.acquired_at or None,
            "renewTime": lease.renewed_at or None,
            "leaseTransitions": lease.transitions,
        }
        if over is not None:
            body: Tree = {"metadata": {"resourceVersion": over.version}, "spec": spec}
            return self._decoded(self._calls.merge(self._path, body))
        made: Tree = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        return self._decoded(self._calls.create(LEASE.path(namespace=self._namespace), made))

    def _decoded(self, body: bytes) -> Lease:
        try:
            read = msgspec.json.decode(body, type=_Read)
        except msgspec.DecodeError:
            # Not understood is not absent: it may be held.
            raise UnavailableError(f"{self._path}: the answer is no Lease") from None
        spec = read.spec
        return Lease(
            holder=spec.holder_identity or "",
            seconds=spec.lease_duration_seconds or 0,
            acquired_at=spec.acquire_time or "",
            renewed_at=spec.renew_time or "",
            transitions=spec.lease_transitions or 0,
            version=read.metadata.resource_version,
        )

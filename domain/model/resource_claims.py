"""Claims on devices (dynamic resource allocation, resource.k8s.io), and the devices they have."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.model.devices import NO_WISHES, DeviceId, DeviceWishes
from treenail.domain.model.pods import Expression

# A claim is used by so many at most at one time: what the API server takes in `status.reservedFor`.
MOST_USERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaim:
    """A claim on devices, what it asks for, the `devices` it has, and from where these can be used.

    `nodes` are the node selector of its allocation: alternatives of conjunctions, none meaning any node.
    `users` are the uids of those it is reserved for. `made_for` is the uid of the pod for which it was made
    from a template, "" where people made it.
    """

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    made_for: str = ""
    allocated: bool = False
    nodes: tuple[tuple[Expression, ...], ...] = ()
    devices: tuple[DeviceId, ...] = ()
    users: tuple[str, ...] = ()
    wishes: DeviceWishes = NO_WISHES
    deleting: bool = False

    @property
    def key(self) -> str:
        """The claim's name as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"

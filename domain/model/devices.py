"""Devices that drivers publish (dynamic resource allocation, resource.k8s.io), and what asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

# What names a device: its driver, its pool, and its name within that.
DeviceId: TypeAlias = tuple[str, str, str]
# What names an attribute or a capacity of a device: its domain, and its name within that.
Qualified: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version, as attributes of a device have it: precedence is by `order`."""

    text: str
    order: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Span:
    """An amount between `low` and `high`, in thousandths: what is known of a device still to be bought."""

    low: int
    high: int


# The versions of DeviceTaintRules, newest first: of Kubernetes 1.37, 1.36 and 1.33. The older ones are off
# unless somebody turns them on.
TAINT_RULE_VERSIONS: Final = (
    "resource.k8s.io/v1",
    "resource.k8s.io/v1beta2",
    "resource.k8s.io/v1alpha3",
)
# The effect of a taint that says something about a device and has no consequence.
NO_EFFECT: Final = "None"
AttributeValue: TypeAlias = str | int | bool | Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Traits of a device, which selectors look at. Sorted. `partly` says that it has more than is known."""

    driver: str
    attributes: tuple[tuple[Qualified, AttributeValue], ...] = ()
    capacity: tuple[tuple[Qualified, Span], ...] = ()
    partly: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a ResourceSlice. `special` says why it is not counted, "" where it is."""

    name: str
    traits: Traits
    special: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSlice:
    """A part of a driver's pool of devices. `node` is "" where the devices are not those of one node.

    A pool consists of the slices of its highest `generation`; it is complete with `slices` of them.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    driver: str
    pool: str
    generation: int = 0
    slices: int = 1
    node: str = ""
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTaintRule:
    """A taint that people put on the devices of a `driver`, a `pool` and a name; None means any.

    `version` is that of the API it was read in. One that does not apply taints nothing.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    version: str = TAINT_RULE_VERSIONS[0]
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    applies: bool = True

    @property
    def key(self) -> str:
        """The key that names it among those of all versions: a server may show one rule in several."""
        return f"{self.version}/{self.name}"

    def taints(self, device: DeviceId) -> bool:
        """Return whether a device has the taint."""
        wanted = (self.driver, self.pool, self.device)
        return self.applies and all(w in (None, one) for w, one in zip(wanted, device, strict=True))

    def taints_new(self, driver: str) -> bool:
        """Return whether devices of a driver may have the taint that nobody has published yet."""
        return self.applies and self.pool is None and self.driver in (None, driver)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A class of devices: those that all `selectors` (CEL) hold for.

    `special` says why devices of it are not counted, "" where they are.
    """

    name: str
    uid: str = ""
    resource_version: int = 0
    selectors: tuple[str, ...] = ()
    special: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """A request of a claim: `count` devices of a class that all `selectors` (CEL) hold for.

    `special` says what else it asks for, where that is more than a number of devices, "" where it is not.
    """

    name: str
    device_class: str = ""
    selectors: tuple[str, ...] = ()
    count: int = 1
    special: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWishes:
    """The devices that a claim asks for. `special` says what it asks of several together; "": nothing."""

    requests: tuple[DeviceRequest, ...] = ()
    special: str = ""


NO_WISHES: Final = DeviceWishes()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaimTemplate:
    """The template of a claim that is made for each pod that names it."""

    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: int = 0
    wishes: DeviceWishes = NO_WISHES

    @property
    def key(self) -> str:
        """The template's name as people write it: namespace/name."""
        return f"{self.namespace}/{self.name}"

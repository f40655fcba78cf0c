"""DeviceClasses, ResourceSlices, ResourceClaimTemplates, and what claims ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import field

from treenail.adapters.api.amounts import MOST_IN_ALL, amount
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import CoreObject
from treenail.adapters.api.model import Model, NotEmpty, Positive, Quantity, prepare, read
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.device_versions import version_of
from treenail.domain.model.devices import (
    NO_EFFECT,
    AttributeValue,
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceWishes,
    Qualified,
    ResourceClaimTemplate,
    ResourceSlice,
    Span,
    Traits,
)
from treenail.domain.model.resources import CPU

_MOST: Final = 32
_COUNT: Final = "ExactCount"
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
M = TypeVar("M", bound=Model)
_Expression = Annotated[str, msgspec.Meta(min_length=1, max_length=10 * 1024)]


class CelModel(Model, kw_only=True):
    """A CEL expression."""

    expression: _Expression


class DeviceSelectorModel(Model, kw_only=True):
    """A selector of devices. There is no other kind yet."""

    cel: CelModel


Selectors = Annotated[tuple[DeviceSelectorModel, ...], msgspec.Meta(max_length=_MOST)]


class ExactRequestModel(Model, kw_only=True):
    """A request of devices of one class."""

    name: str = ""
    device_class_name: NotEmpty
    selectors: Selectors = ()
    allocation_mode: NotEmpty = _COUNT
    count: Positive = 1
    admin_access: bool = False
    tolerations: tuple[dict[str, Any], ...] = ()
    capacity: dict[str, Any] | None = None

    def value(self, name: str, unknown: str) -> DeviceRequest:
        """Return the request under its name. `unknown` is a field it has that is none of these."""
        special = ""
        if unknown:
            special = _not_understood(unknown)
        elif self.allocation_mode == "All":
            special = "asks for all devices of a node"
        elif self.allocation_mode != _COUNT:
            special = f"has the allocation mode {self.allocation_mode}, which is not understood"
        elif self.admin_access:
            special = "asks for access that only administrators have"
        elif self.capacity:
            special = "asks for a part of what devices have"
        return DeviceRequest(
            name=name,
            device_class=self.device_class_name,
            selectors=_expressions(self.selectors),
            count=self.count,
            special=special,
        )


def read_part(of: type[M], tree: Mapping[str, Any], at: str) -> tuple[M, str]:
    """Return a part of an object, which is at the path `at`, and the name of a field not known, or ""."""
    try:
        model = read(of, tree)
    except FieldError as error:
        raise FieldError(f"{at}.{error.field}", error.problem) from None
    return model, min((key for key in tree if key not in of.__struct_encode_fields__), default="")


def _not_understood(unknown: str) -> str:
    """Return what is special about something with a field that is not known, "" where there is none."""
    return f"has the field {unknown}, which is not understood" if unknown else ""


def _exact(tree: Mapping[str, Any], name: str, at: str) -> DeviceRequest:
    model, unknown = read_part(ExactRequestModel, tree, at)
    return model.value(name, unknown)


class DeviceRequestModel(Model, kw_only=True):
    """A request by its name: one class of devices, or the first of several that can be had."""

    name: NotEmpty
    exactly: dict[str, Any] | None = None
    first_available: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(max_length=8)] = ()

    def value(self, at: str, unknown: str) -> DeviceRequest:
        """Return the request; FieldError says what is wrong with it under the path `at`.

        `unknown` is a field it has that is none of these.
        """
        if unknown:
            return DeviceRequest(name=self.name, special=_not_understood(unknown))
        if (self.exactly is None) == (not self.first_available):
            raise FieldError(at, "must have one of exactly and firstAvailable")
        if self.exactly is not None:
            return _exact(self.exactly, self.name, f"{at}.exactly")
        found = [
            _exact(one, self.name, f"{at}.firstAvailable[{n}]") for n, one in enumerate(self.first_available)
        ]
        if len(found) == 1:
            return found[0]
        return DeviceRequest(name=self.name, special="leaves a choice of what is available (firstAvailable)")


class DeviceWishesModel(Model):
    """The devices a claim asks for. Its configuration is only read by the driver."""

    requests: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(max_length=_MOST)] = ()
    constraints: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(max_length=_MOST)] = ()
    config: tuple[dict[str, Any], ...] = ()

    def value(self, at: str, unknown: str) -> DeviceWishes:
        """Return what is asked for; FieldError says what is wrong with it under the path `at`.

        `unknown` is a field it has that is none of these.
        """
        requests: list[DeviceRequest] = []
        for number, tree in enumerate(self.requests):
            here = f"{at}.requests[{number}]"
            model, strange = read_part(DeviceRequestModel, tree, here)
            requests.append(model.value(here, strange))
        if len({one.name for one in requests}) < len(requests):
            raise FieldError(f"{at}.requests", "must have names that differ")
        special = "asks that devices be alike (constraints)" if self.constraints else ""
        return DeviceWishes(requests=tuple(requests), special=_not_understood(unknown) or special)


class ResourceClaimSpecModel(Model):
    """The spec of a claim."""

    devices: dict[str, Any] = field(default_factory=dict)


def wishes_of(spec: Mapping[str, Any], at: str, beside: str = "") -> DeviceWishes:
    """Return what the spec of a claim asks for; FieldError says what is wrong with it under the path `at`.

    `beside` is the name of a field around it that is not known.
    """
    claim, unknown = read_part(ResourceClaimSpecModel, spec, at)
    model, within = read_part(DeviceWishesModel, claim.devices, f"{at}.devices")
    return model.value(f"{at}.devices", beside or unknown or within)


class TemplateSpecModel(Model, kw_only=True):
    """The spec of a template: that of the claims made from it, and their labels."""

    metadata: dict[str, Any] = field(default_factory=dict)
    spec: dict[str, Any]


class ResourceClaimTemplateModel(CoreObject, kw_only=True):
    """resource.k8s.io/v1 ResourceClaimTemplate."""

    spec: dict[str, Any]


class DeviceClassSpecModel(Model):
    """The spec of a class. Its configuration is the driver's to read.

    By the name of an extended resource pods may ask for its devices as for those of a device plugin.
    """

    selectors: Selectors = ()
    config: tuple[dict[str, Any], ...] = ()
    extended_resource_name: str = ""


class DeviceClassModel(CoreObject, kw_only=True):
    """resource.k8s.io/v1 DeviceClass."""

    spec: dict[str, Any]


class AttributeModel(Model):
    """The value of an attribute, of one of four types. Others there may be in time are none of these."""

    integer: int | None = field(default=None, name="int")
    boolean: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None

    def value(self, at: str) -> AttributeValue | None:
        """Return the value, None for one of another type; FieldError says what is wrong with it."""
        there = [v for v in (self.integer, self.boolean, self.string, self.version) if v is not None]
        if len(there) > 1:
            raise FieldError(at, "must have one value")
        if self.version is not None:
            version = version_of(self.version)
            if version is None:
                raise FieldError(f"{at}.version", f"{self.version!r} is no semantic version")
            return version
        return there[0] if there else None


class CapacityModel(Model, kw_only=True):
    """An amount that a device has."""

    value: Quantity


class DeviceModel(Model, kw_only=True):
    """A device of a slice."""

    name: NotEmpty
    attributes: dict[str, AttributeModel] = field(default_factory=dict)
    capacity: dict[str, CapacityModel] = field(default_factory=dict)
    consumes_counters: tuple[dict[str, Any], ...] = ()
    taints: tuple[dict[str, Any], ...] = ()
    allow_multiple_allocations: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    binds_to_node: bool = False
    node_name: str = ""
    node_selector: dict[str, Any] | None = None
    all_nodes: bool = False

    def value(self, driver: str, at: str, unknown: str) -> Device:
        """Return the device; FieldError says what is wrong with it under the path `at`.

        `unknown` is a field it has that is none of these.
        """
        attributes: list[tuple[Qualified, AttributeValue]] = []
        partly = False
        for key, model in self.attributes.items():
            value = model.value(f"{at}.attributes.{key}")
            partly = partly or value is None
            if value is not None:
                attributes.append((_qualified(key, driver, f"{at}.attributes"), value))
        amounts: list[tuple[Qualified, Span]] = []
        for key, one in self.capacity.items():
            # As cores are: in thousandths.
            known = amount(CPU, one.value, f"{at}.capacity.{key}.value", most=MOST_IN_ALL)
            amounts.append((_qualified(key, driver, f"{at}.capacity"), Span(known, known)))
        return Device(
            name=self.name,
            traits=Traits(
                driver=driver,
                attributes=tuple(sorted(attributes, key=_name)),
                capacity=tuple(sorted(amounts, key=_name)),
                partly=partly,
            ),
            special=_not_understood(unknown) or self._special(),
        )

    def _special(self) -> str:
        if self.consumes_counters:
            return "shares counters with others"
        if any(taint.get("effect") != NO_EFFECT for taint in self.taints):
            return "has a taint"
        if self.allow_multiple_allocations:
            return "may be allocated several times"
        if self.binding_conditions:
            return "waits for conditions when it is bound"
        own = self.node_name or self.node_selector or self.all_nodes
        return "says by itself where it can be used" if own else ""


class PoolModel(Model, kw_only=True):
    """The pool that a slice is of."""

    name: NotEmpty
    generation: int
    resource_slice_count: Positive


class ResourceSliceSpecModel(Model, kw_only=True):
    """The spec of a slice. Counters that its devices share are theirs to name."""

    driver: NotEmpty
    pool: PoolModel
    node_name: str = ""
    node_selector: dict[str, Any] | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    shared_counters: tuple[dict[str, Any], ...] = ()
    devices: Annotated[tuple[dict[str, Any], ...], msgspec.Meta(max_length=128)] = ()

    def value(self, unknown: str) -> tuple[Device, ...]:
        """Return the devices; FieldError says what is wrong with one.

        `unknown` is a field of the slice that is none of these: it may be about each.
        """
        found: list[Device] = []
        for number, tree in enumerate(self.devices):
            at = f"spec.devices[{number}]"
            model, strange = read_part(DeviceModel, tree, at)
            found.append(model.value(self.driver, at, strange or unknown))
        return tuple(found)

    @property
    def node(self) -> str:
        """The node of these devices, "" where they are not those of one node."""
        elsewhere = self.node_selector or self.all_nodes or self.per_device_node_selection
        return "" if elsewhere else self.node_name


# What is read as a part of others.
for _model in (
    *(ExactRequestModel, DeviceRequestModel, DeviceWishesModel),
    *(ResourceClaimSpecModel, TemplateSpecModel),
    *(DeviceModel, ResourceSliceSpecModel, DeviceClassSpecModel),
):
    prepare(_model)


class ResourceSliceModel(CoreObject, kw_only=True):
    """resource.k8s.io/v1 ResourceSlice."""

    spec: dict[str, Any]


def device_class(model: DeviceClassModel, _reading: Reading) -> Translation:
    """Return the class; FieldError says what is wrong with it."""
    model.metadata.validate()
    spec, unknown = read_part(DeviceClassSpecModel, model.spec, "spec")
    found = DeviceClass(
        **model.metadata.identity,
        selectors=_expressions(spec.selectors),
        special=_not_understood(unknown),
    )
    return Translation(objects=(found,))


def resource_claim_template(model: ResourceClaimTemplateModel, _reading: Reading) -> Translation:
    """Return the template; FieldError says what is wrong with it."""
    meta = model.metadata
    meta.validate()
    template, unknown = read_part(TemplateSpecModel, model.spec, "spec")
    wishes = wishes_of(template.spec, "spec.spec", unknown)
    found = ResourceClaimTemplate(**meta.identity, namespace=meta.namespace or "default", wishes=wishes)
    return Translation(objects=(found,))


def resource_slice(model: ResourceSliceModel, _reading: Reading) -> Translation:
    """Return the slice; FieldError says what is wrong with it."""
    model.metadata.validate()
    spec, unknown = read_part(ResourceSliceSpecModel, model.spec, "spec")
    devices = spec.value(unknown)
    names = [one.name for one in devices]
    if len(set(names)) < len(names):
        raise FieldError("spec.devices", "must have names that differ")
    found = ResourceSlice(
        **model.metadata.identity,
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        slices=spec.pool.resource_slice_count,
        node=spec.node,
        devices=devices,
    )
    return Translation(objects=(found,))


def _expressions(selectors: Iterable[DeviceSelectorModel]) -> tuple[str, ...]:
    return tuple(one.cel.expression for one in selectors)


def _name(pair: Sequence[Any]) -> Any:  # noqa: ANN401 - a qualified name
    return pair[0]


def _qualified(key: str, driver: str, at: str) -> Qualified:
    """Return the domain and the name of an attribute or a capacity: without one it is the driver's."""
    domain, slash, name = key.rpartition("/")
    if (slash and not domain) or not _IDENTIFIER.fullmatch(name):
        raise FieldError(at, f"{key!r} is no qualified name")
    return domain or driver, name

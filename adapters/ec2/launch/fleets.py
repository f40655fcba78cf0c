"""Instances bought by CreateFleet: once per token, whatever gets lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from cachetools import TTLCache

from treenail.adapters.ec2.call_errors import code_of, message_of
from treenail.adapters.ec2.call_retries import Passed
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.launch.addresses import FreeAddresses
from treenail.adapters.ec2.launch.descriptions import Descriptions, errors_of
from treenail.adapters.ec2.launch.fleet_call import FleetCall, check, choices, fleet_call
from treenail.adapters.ec2.launch.tags import REQUEST_TAG
from treenail.adapters.ec2.launch.template import Build, Template, template_of
from treenail.adapters.ec2.launch.templates import Templates
from treenail.adapters.ec2.resolved import ClusterFacts, Resolved
from treenail.domain.model.errors import (
    AlreadyExistsError,
    InvalidError,
    NotFoundError,
    PortError,
    UnavailableError,
)
from treenail.domain.model.fleets import (
    SUBNET_FULL,
    FleetAnswer,
    FleetError,
    FleetRequest,
    Instance,
)
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.runtime import Clock

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import CreateFleetRequestTypeDef, CreateFleetResultTypeDef

_MISMATCH: Final = "IdempotentParameterMismatch"
_TEMPLATE_GONE: Final = frozenset(
    {
        "InvalidLaunchTemplateId.NotFound",
        "InvalidLaunchTemplateId.NotFoundException",
        "InvalidLaunchTemplateName.NotFound",
        "InvalidLaunchTemplateName.NotFoundException",
    }
)
# What EC2 says of an instance profile that IAM has just made. It takes some seconds to be known there.
_UNSEEN_PROFILE: Final = "iamInstanceProfile"
_UNSEEN_SECONDS: Final = 5.0
_MOST_TRIES: Final = 4
_FLEET_TAG: Final = "aws:ec2:fleet-id"
_MOST_CALLS: Final = 4096
_CALL_SECONDS: Final = 3600.0


class NodeClasses(Protocol):
    """Node classes as they resolve at this moment: subnets, images and the types they can launch."""

    def resolve(self, node_class: NodeClass) -> Resolved: ...
    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]: ...


class Fleets:
    """CreateFleet calls. Threads may share it; calls with one token come one after the other.

    `facts` returns the facts about the cluster that nodes need, `profile_of` the instance profile of a node
    class; `find` looks for instances by the token of their launch. Reservations are only named in calls if
    `reserved`.
    """

    def __init__(  # noqa: PLR0913 (what it works with is given by name)
        self,
        aws: Aws,
        clock: Clock,
        *,
        node_classes: NodeClasses,
        facts: Callable[[], ClusterFacts],
        templates: Templates,
        descriptions: Descriptions,
        find: Callable[[str], tuple[Instance, ...]],
        profile_of: Callable[[NodeClass], str],
        prices: PriceOverrides = NO_OVERRIDES,
        reserved: bool = True,
    ) -> None:
        self._use_reserved = reserved
        self._aws = aws
        self._prices = prices
        self._clock = clock
        self._node_classes = node_classes
        self._facts = facts
        self._templates = templates
        self._descriptions = descriptions
        self._find = find
        self._profile_of = profile_of
        self._addresses = FreeAddresses(clock)
        self._lock = Lock()
        self._calls: TTLCache[str, FleetCall] = TTLCache(_MOST_CALLS, _CALL_SECONDS, timer=clock.monotonic)

    def create(self, request: FleetRequest) -> FleetAnswer:
        """Buy what a request asks for, or as much of it as there is; asked again, answer as before.

        Raises:
            InvalidError: the request is refused as a whole, or its token was used for another one.
            NodeClassNotReadyError: the node class cannot be launched from.
            PortError: as `CallRetries` says.
        """
        check(request)
        call = self._call(request)
        token, waited = request.token, 0.0
        for number in range(1, _MOST_TRIES + 1):
            answer = self._attempt(call, request, token)
            waited += answer.waited_seconds
            answer = self._with_addresses(call, request, answer)
            if number == _MOST_TRIES or not self._mended(call, request, answer, first=number == 1):
                break
            # A token that made a fleet, if an empty one, will not make another. One that made none is still
            # good, and must be used: asked again we would begin with it again.
            if answer.fleet_id:
                token = f"{request.token}-{number + 1}"
        return replace(answer, waited_seconds=waited)

    def _mended(self, call: FleetCall, request: FleetRequest, answer: FleetAnswer, *, first: bool) -> bool:
        """Return whether the call may do better now: where its templates were gone, or its profile is new."""
        if answer.instances:
            return False
        if first and any(error.code in _TEMPLATE_GONE for error in answer.errors):
            self._templates.forget(template.name for template in call.templates)
            return True
        if request.node_class.role and any(_UNSEEN_PROFILE in error.message for error in answer.errors):
            self._aws.retries.wait(_UNSEEN_SECONDS)
            return True
        return False

    def _call(self, request: FleetRequest) -> FleetCall:
        """Return the call for a request: the very same where it was made before, as far as we remember."""
        with self._lock:
            known = self._calls.get(request.token)
        if known is not None:
            if known.digest != request.digest():
                raise InvalidError(f"{_MISMATCH}: the token {request.token} was used for another request")
            return known
        call = self.prepare(request)
        with self._lock:
            self._calls[request.token] = call
        self._addresses.deduct(request.token, call.addresses, instances=request.count)
        return call

    def _with_addresses(self, call: FleetCall, request: FleetRequest, answer: FleetAnswer) -> FleetAnswer:
        """Give back the addresses that were not taken; where there were too few, there are none left.

        Return the answer with what is known of other subnets of the same zone.
        """
        bought = Counter(instance.zone for instance in answer.instances)
        self._addresses.settle(request.token, {subnet: bought[zone] for subnet, zone in call.zones.items()})
        full = {error.zone for error in answer.errors if error.code == SUBNET_FULL}
        self._addresses.exhaust(subnet for subnet, zone in call.zones.items() if zone in full)
        with_room = {
            zone for zone in full if any(self._addresses.left(one) > 0 for one in call.spare.get(zone, ()))
        }
        errors = tuple(
            replace(error, elsewhere=True) if error.code == SUBNET_FULL and error.zone in with_room else error
            for error in answer.errors
        )
        return replace(answer, errors=errors)

    def prepare(self, request: FleetRequest) -> FleetCall:
        """Return the call for a request.

        Raises:
            InvalidError: nothing of what it asks for can be launched.
            NodeClassNotReadyError: the node class cannot be launched from.
            PortError: as `CallRetries` says.
        """
        node_class = request.node_class
        resolved = self._node_classes.resolve(node_class)
        types = self._node_classes.instance_types(node_class, request.kubelet)
        by_name = self._descriptions.note_launch(request.token, node_class.ref, types)
        return fleet_call(
            request,
            choices(request, resolved, by_name, self._addresses.roomiest(resolved.subnets)),
            partial(self._template, request, resolved),
            self._prices,
            subnets=resolved.subnets,
        )

    def _template(self, request: FleetRequest, resolved: Resolved, build: Build) -> Template:
        return template_of(
            request,
            self._facts(),
            security_groups=resolved.security_groups,
            instance_profile=self._profile_of(request.node_class),
            build=build,
            reserved=self._use_reserved,
            placement_group="" if resolved.placement_group is None else resolved.placement_group.id,
        )

    def _attempt(self, call: FleetCall, request: FleetRequest, token: str) -> FleetAnswer:
        self._templates.ensure(call.templates)
        try:
            passed = self._send({**call.parameters, "ClientToken": token})
        except PortError as error:
            return self._refused(request, error)
        answer = passed.value
        return FleetAnswer(
            instances=self._descriptions.bought(call, request, answer, self._clock.now()),
            errors=errors_of(answer, call),
            fleet_id=answer.get("FleetId", ""),
            request_id=answer["ResponseMetadata"].get("RequestId", ""),
            waited_seconds=passed.waited_seconds,
        )

    def _send(self, parameters: CreateFleetRequestTypeDef) -> Passed[CreateFleetResultTypeDef]:
        return self._aws.retries.ask(
            "ec2", "CreateFleet", lambda: self._aws.clients.ec2.create_fleet(**parameters)
        )

    def _refused(self, request: FleetRequest, error: PortError) -> FleetAnswer:
        """Return what a refusal of the whole call says as an answer, where it is one; else raise it."""
        code = code_of(error)
        if code == _MISMATCH:
            return self._made_before(request)
        passing = code in _TEMPLATE_GONE or _UNSEEN_PROFILE in message_of(error)
        told = FleetError(code=code, message=message_of(error))
        if told.capacity or passing or (told.of_reservation and request.reservations):
            return FleetAnswer(errors=(told,))
        if isinstance(error, NotFoundError | AlreadyExistsError):
            raise InvalidError(str(error)) from error.__cause__
        raise error

    def _made_before(self, request: FleetRequest) -> FleetAnswer:
        """Answer a call that a process before this one made, with parameters that have changed since.

        Images and subnets are chosen anew by each process; whether it was for the same, the tags tell.
        """
        found = self._find(request.token)
        same = tuple(one for one in found if one.tags.get(REQUEST_TAG) == request.digest())
        if len(same) < len(found):
            raise InvalidError(f"{_MISMATCH}: the token {request.token} was used for another request")
        if not same:
            raise UnavailableError(f"what was bought under the token {request.token} is not to be seen yet")
        return FleetAnswer(instances=same, fleet_id=same[0].tags.get(_FLEET_TAG, ""))

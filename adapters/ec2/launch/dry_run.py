"""Dry runs: whether EC2 would let the controller launch from a node class, asked and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from treenail.adapters.ec2.call_errors import code_of, message_of
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import unheard
from treenail.adapters.ec2.launch.fleet_call import FleetCall
from treenail.adapters.ec2.launch.tags import launch_tags, machine_tags, specification
from treenail.adapters.ec2.launch.templates import Templates
from treenail.domain.cluster.cluster_facts import says_the_same
from treenail.domain.launch.trial_launch import Forbidden
from treenail.domain.model.errors import NodeClassNotReadyError, PortError
from treenail.domain.model.fleets import FleetRequest
from treenail.domain.model.node_class_status import NodeClassMeaning
from treenail.domain.model.node_classes import NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Clock, Log

if TYPE_CHECKING:  # the types of requests are not there at run time
    from types_boto3_ec2.type_defs import CreateFleetRequestTypeDef, RunInstancesRequestTypeDef

# Karpenter keeps its results as long. A forbidden launch is tried sooner, as people wait for the permission.
_ALLOWED_SECONDS: Final = 1800.0
_FORBIDDEN_SECONDS: Final = 300.0
_UNAUTHORIZED: Final = "UnauthorizedOperation"
# By this EC2 says that the call would have been made.
_WOULD_DO: Final = "DryRunOperation"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A dry run: its input, what it found, and until when (monotonic seconds) the result is used."""

    node_class: NodeClass
    found: tuple[object, ...]
    pools: tuple[NodePool, ...]
    forbidden: Forbidden | None
    until: float

    def about(self, node_class: NodeClass, found: tuple[object, ...], pools: tuple[NodePool, ...]) -> bool:
        return (
            says_the_same(self.node_class, node_class)
            and self.found == found
            and len(self.pools) == len(pools)
            and all(map(says_the_same, self.pools, pools))
        )


class DryRuns:
    """Dry runs of launches: EC2 says whether it would allow them. Threads may share it.

    `prepare` makes a call of a request. Its launch template is really made, as EC2 looks at the objects a
    call names before it looks at permissions; unused, it is deleted like any other. Nothing else is made.
    """

    def __init__(
        self,
        aws: Aws,
        clock: Clock,
        templates: Templates,
        prepare: Callable[[FleetRequest], FleetCall],
        log: Log = unheard,
    ) -> None:
        self._aws = aws
        self._clock = clock
        self._templates = templates
        self._prepare = prepare
        self._log = log
        self._asked: dict[NodeClassRef, _Asked] = {}

    def forbidden(self, ref: NodeClassRef) -> Forbidden | None:
        """Return what was found to be forbidden of launches from a node class; None where nothing was."""
        asked = self._asked.get(ref)
        return asked.forbidden if asked is not None and self._clock.monotonic() < asked.until else None

    def of(
        self,
        node_class: NodeClass,
        meaning: NodeClassMeaning,
        pools: tuple[NodePool, ...],
        request: Callable[[], FleetRequest | None],
    ) -> Forbidden | None:
        """Return what is forbidden of the launch that `request` gives; None where nothing is.

        Nor is anything where EC2 does not tell: what it says of something else is logged.
        """
        found = (
            tuple(sorted(one.id for one in meaning.subnets)),
            meaning.security_groups,
            tuple(one.id for one in meaning.images),
            meaning.instance_profile,
        )
        asked, now = self._asked.get(node_class.ref), self._clock.monotonic()
        if asked is not None and now < asked.until and asked.about(node_class, found, pools):
            return asked.forbidden
        try:
            wanted = request()
            forbidden = None if wanted is None else self._ask(wanted)
        except (NodeClassNotReadyError, PortError) as error:
            self._log(
                "cannot try a launch", level="warning", node_class=str(node_class.ref), error=str(error)
            )
            return None
        if wanted is not None:
            seconds = _ALLOWED_SECONDS if forbidden is None else _FORBIDDEN_SECONDS
            self._asked[node_class.ref] = _Asked(
                node_class=node_class, found=found, pools=pools, forbidden=forbidden, until=now + seconds
            )
        return forbidden

    def _ask(self, request: FleetRequest) -> Forbidden | None:
        call = self._prepare(request)
        for action, attempts in (
            ("CreateLaunchTemplate", iter((partial(self._templates.ensure, call.templates),))),
            ("CreateFleet", iter((partial(self._try_fleet, call),))),
            ("RunInstances", self._runs(call, request)),
        ):
            refused = self._refused(attempts)
            if refused is not None:
                return Forbidden(action=action, why=refused)
        return None

    def _refused(self, attempts: Iterator[Callable[[], object]]) -> str | None:
        """Return why all of some attempts are forbidden, as of the first; None where one would pass."""
        why: str | None = None
        for attempt in attempts:
            try:
                attempt()
            except PortError as error:
                if code_of(error) == _WOULD_DO:
                    return None
                if code_of(error) != _UNAUTHORIZED:
                    raise
                why = why or message_of(error)
            else:
                return None
        return why

    def _try_fleet(self, call: FleetCall) -> None:
        dry: CreateFleetRequestTypeDef = {**call.parameters, "DryRun": True}
        self._send("CreateFleet", partial(self._aws.clients.ec2.create_fleet, **dry))

    def _runs(self, call: FleetCall, request: FleetRequest) -> Iterator[Callable[[], object]]:
        """Yield the attempts to run an instance in each subnet, until one would pass."""
        template = call.parameters["LaunchTemplateConfigs"][0]
        override = template["Overrides"][0]
        for subnet in sorted(call.zones):
            wanted: RunInstancesRequestTypeDef = {
                "DryRun": True,
                "MinCount": 1,
                "MaxCount": 1,
                "InstanceType": override["InstanceType"],
                "LaunchTemplate": template["LaunchTemplateSpecification"],
                "NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": subnet}],
                "TagSpecifications": [
                    specification("instance", machine_tags(request)),
                    specification("volume", machine_tags(request)),
                    specification("network-interface", launch_tags(request)),
                ],
            }
            if "ImageId" in override:
                wanted["ImageId"] = override["ImageId"]
            run = partial(self._aws.clients.ec2.run_instances, **wanted)
            yield partial(self._send, "RunInstances", run)

    def _send(self, action: str, call: Callable[[], object]) -> None:
        self._aws.retries.call("ec2", action, call, purpose=Purpose.HOUSEKEEPING)

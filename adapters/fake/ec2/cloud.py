"""The fake EC2: launch from it, embed it, cause faults in it, read its cost."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import fsum
from typing import TypeAlias

from treenail.adapters.api.account import Account, Image, SecurityGroup, Subnet
from treenail.adapters.fake.ec2.capacity import ANY
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.fake.ec2.estate import Estate
from treenail.adapters.fake.ec2.fleets import Fleets
from treenail.adapters.fake.ec2.health import Health
from treenail.adapters.fake.ec2.latency import latency_of
from treenail.adapters.fake.ec2.launch_templates import LaunchTemplates
from treenail.adapters.fake.ec2.machines import EndCause, InstanceRecord, Machine
from treenail.adapters.fake.ec2.node_class_statuses import NodeClassStatuses
from treenail.adapters.fake.ec2.node_names import node_name_of
from treenail.adapters.fake.ec2.node_sizes import NodeSizes, Shortfall
from treenail.adapters.fake.ec2.outside_events import OutsideEvents
from treenail.adapters.fake.ec2.placement_groups import PlacementGroups
from treenail.adapters.fake.ec2.profiles import InstanceProfiles
from treenail.adapters.fake.ec2.region import Layout, Region
from treenail.adapters.fake.ec2.reservations import Reservations
from treenail.adapters.fake.ec2.settings import EC2Faults, EC2Settings
from treenail.adapters.fake.ec2.spells import Spell
from treenail.adapters.fake.ec2.throttle import (
    CREATE_FLEET,
    CREATE_LAUNCH_TEMPLATE,
    CREATE_TAGS,
    DESCRIBE_INSTANCE_TYPES,
    DESCRIBE_INSTANCES,
    TERMINATE_INSTANCES,
    Throttle,
)
from treenail.adapters.fake.luck import chance, fork
from treenail.adapters.fake.queue import FakeQueue
from treenail.domain.interruption.impairments import Impairments
from treenail.domain.launch.trial_launch import Forbidden
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, UnavailableError
from treenail.domain.model.fleets import CLUSTER_TAG, FleetAnswer, FleetRequest, Instance, InstanceState
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import NodeClassStatus
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Status
from treenail.domain.model.observed_capacity import CapacityObserved, ObservedCapacity
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Agenda, TaskKey

OnRunning: TypeAlias = Callable[[Instance, FleetRequest], None]
OnGone: TypeAlias = Callable[[Instance], None]


class FakeEC2:
    """EC2 in memory, in virtual time. Implements the port `Cloud`; its calls meet limits and `faults`.

    The agenda gives the time and calls back; `dice` decides all that is left to chance. `faults` may be
    set anew at any time, and `outside` causes events from outside the cluster. What happens to instances is
    told through `queue`, if there is one. `estate` takes in what was there before. Without `subnets`, there
    is one in each of `zones` (the first three of the catalogue). Without `roles`, IAM has every role it is
    asked for. An `account` says all three. Methods that are not of the port never fail by chance, and raise
    ValueError where they are asked for what cannot happen.
    """

    def __init__(  # noqa: PLR0913 (what can be set is set by name)
        self,
        agenda: Agenda,
        dice: random.Random,
        catalogue: Catalogue,
        *,
        cluster_name: str,
        queue: FakeQueue | None = None,
        settings: EC2Settings | None = None,
        faults: EC2Faults | None = None,
        zones: Sequence[str] | None = None,
        subnets: Sequence[Subnet] | None = None,
        security_groups: Sequence[SecurityGroup] | None = None,
        roles: Sequence[str] | None = None,
        account: Account | None = None,
    ) -> None:
        self.faults = faults or EC2Faults()
        self.settings = settings or EC2Settings()
        self.cluster_name = cluster_name
        self._luck, self._latency = fork(dice), fork(dice)
        self._throttle = Throttle(agenda, self.settings)
        self._region = Region.of(
            agenda=agenda,
            dice=fork(dice),
            catalogue=catalogue,
            settings=self.settings,
            faults=lambda: self.faults,
            layout=(
                Layout(zones=zones, subnets=subnets, security_groups=security_groups, roles=roles)
                if account is None
                else Layout.of(account, zones)
            ),
            cluster=cluster_name,
        )
        self._machines = self._region.machines
        self._spells = self._region.spells
        self._templates = LaunchTemplates(self._spells)
        self._fleets = Fleets(self._region)
        self._node_class_statuses = NodeClassStatuses(self._region, self._admit, cluster=cluster_name)
        self._sizes = NodeSizes()
        self.outside = OutsideEvents(self._region, self._fleets, self._templates, queue)
        self._found_forbidden: Forbidden | None = None
        self.estate = Estate(self._region)
        if account is not None:
            self.estate.furnish(account)
        self.health = Health(self._region, self._admit, cluster=cluster_name)
        self._running: list[OnRunning] = []
        self._gone: list[OnGone] = []
        # Stopped or ended, by id: an instance may be ended after it was stopped.
        self._down: dict[str, None] = {}
        self._machines.on_change.append(self._changed)

    # --- the port

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Return all types that `node_class` could launch, sorted by name, with offerings and prices.

        Raises:
            NodeClassNotReadyError: its subnets, security groups or images are not to be found.
            UnavailableError, TooManyRequestsError: no answer, or a rate limit.
        """
        self._admit(DESCRIBE_INSTANCE_TYPES)
        if (forbidden := self._found_forbidden) is not None:
            raise NodeClassNotReadyError(f"{node_class.ref}: {forbidden.message}", reason=forbidden.reason)
        return self._region.assortment(node_class, kubelet).launchable

    def learn(self, observation: CapacityObserved) -> bool:
        """Take in how much a node turned out to have; return whether that is news."""
        return self._region.shop.learned.learn(observation)

    def launch(self, request: FleetRequest) -> FleetAnswer:
        """Buy `request.count` instances at once, or fewer.

        Raises:
            InvalidError: the request is refused as a whole, or its token was used for another one.
            NodeClassNotReadyError: the node class cannot be launched from.
            UnavailableError: no answer; perhaps it was done.
            TooManyRequestsError: a rate limit. Nothing was done.
        """
        if request.tags.get(CLUSTER_TAG) != self.cluster_name:
            raise InvalidError(
                f"UnauthorizedOperation: instances of {self.cluster_name} bear the tag {CLUSTER_TAG}"
            )
        if self.outside.forbidden is not None:
            raise InvalidError(f"UnauthorizedOperation: {self.outside.forbidden.why}")
        if self._templates.thought_there(request):
            self._admit(CREATE_FLEET, max(request.count, 1))
        if not self._templates.there(request):
            self._admit(CREATE_LAUNCH_TEMPLATE)
            self._templates.make(request)
        self._admit(CREATE_FLEET, max(request.count, 1))
        answer = self._fleets.create(request)
        if chance(self._luck, self.faults.answer_lost) or self._spells.on(Spell.ANSWERS_LOST):
            raise UnavailableError("EC2's answer to CreateFleet got lost")
        return answer

    def launched_by(self, token: str) -> tuple[Instance, ...]:
        """Return the instances tagged with `token` that are visible yet.

        Raises:
            UnavailableError, TooManyRequestsError: no answer, or a rate limit.
        """
        self._admit(DESCRIBE_INSTANCES)
        found = self._machines.describe(self.cluster_name, token)
        return tuple(replace(one, node_name=self.node_name(one)) for one in found)

    def instances(self) -> tuple[Instance, ...]:
        """Return all visible instances of this cluster, terminated ones left out.

        Raises:
            UnavailableError, TooManyRequestsError: no answer, or a rate limit.
        """
        self._admit(DESCRIBE_INSTANCES)
        return self._machines.describe(self.cluster_name)

    def impairments(self) -> Impairments:
        """Return which running instances of this cluster are unwell, as `health` was told.

        Raises:
            UnavailableError: no answer.
            TooManyRequestsError: a rate limit.
        """
        return Impairments(found=self.health.impairments())

    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Terminate instances; those that are gone already do not matter.

        Raises:
            InvalidError: one is another cluster's. None is terminated.
            UnavailableError: no answer; perhaps it was done.
            TooManyRequestsError: a rate limit. Nothing was done.
        """
        del purpose  # what is one call too many is refused, whatever it is for
        self._admit(TERMINATE_INSTANCES, len(ids))
        machines = list(filter(None, map(self._machines.find, ids)))
        foreign = [m.instance.id for m in machines if m.cluster != self.cluster_name]
        if foreign:
            raise InvalidError(f"UnauthorizedOperation: {foreign[0]} is not of {self.cluster_name}")
        for machine in machines:
            self._machines.terminate(machine, EndCause.CONTROLLER)
        if chance(self._luck, self.faults.terminate_lost) or self._spells.on(Spell.ANSWERS_LOST):
            raise UnavailableError("EC2's answer to TerminateInstances got lost")

    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Give an instance `tags` beside those it has.

        Raises:
            NotFoundError: there is none of this cluster, or it is not visible yet.
            UnavailableError, TooManyRequestsError: no answer, or a rate limit.
        """
        self._admit(CREATE_TAGS)
        self._machines.tag(instance_id, self.cluster_name, tags)

    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        """Return what a node class means now; an instance profile it wants is made.

        What `outside` forbade of launches is told where it has `pools`, as by a dry run.
        """
        found = self._node_class_statuses.of(node_class)
        well = all(one.status is Status.TRUE for one in found.conditions)
        self._found_forbidden = forbidden = self.outside.forbidden if pools and well else None
        if forbidden is None:
            return found
        return replace(found, conditions=(*found.conditions, forbidden.condition))

    def release(self, node_class: NodeClass) -> None:
        """Delete what was made for a node class."""
        self._node_class_statuses.release(node_class)

    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Delete the instance profiles that are not needed, and return their names."""
        return self._node_class_statuses.collect(node_classes)

    def _admit(self, api: str, resources: int = 1) -> None:
        self._throttle.note(api)
        if chance(self._luck, self.faults.throttled) or self._spells.on(Spell.THROTTLED):
            self._throttle.refuse(api)
        self._throttle.admit(api, resources)
        if chance(self._luck, self.faults.unavailable) or self._spells.on(Spell.AWAY):
            raise UnavailableError(f"EC2 does not answer {api}")

    # --- for those that embed it

    def latency(self, key: TaskKey) -> tuple[float, float]:
        """Return the seconds a call takes to EC2, and its answer back. `key[1]` names what it is about."""
        slow = self._spells.on(Spell.SLOW)
        return latency_of(key, self._latency, self.settings, self.faults, slow=slow)

    def on_running(self, call: OnRunning) -> None:
        """Call `call` with every instance of the cluster that starts to run, and the request it is from."""
        self._running.append(call)

    def on_gone(self, call: OnGone) -> None:
        """Call `call` once with every instance of the cluster whose machine goes down, why ever."""
        self._gone.append(call)

    def boot_seconds(self, instance: Instance) -> float | None:
        """Return the seconds from running to a kubelet that joins; None where none ever does.

        Raises:
            ValueError: there was never such an instance.
        """
        return self._machine(instance.id).boot_seconds

    def forget_observations(self) -> None:
        """Forget what nodes turned out to have, as a controller does that ends."""
        self._region.shop.learned = ObservedCapacity()

    def node_size(self, instance: Instance) -> tuple[Resources, Resources]:
        """Return the capacity and the allocatable that an instance's node comes up with.

        Raises:
            ValueError: there was never such an instance.
        """
        return self._sizes.of(self._machine(instance.id))

    def sold(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Return what `instance_types` does, for those who see all of this EC2 and ask it nothing."""
        return self._region.assortment(node_class, kubelet).launchable

    def node_name(self, instance: Instance) -> str:
        """Return the private DNS name of an instance, by which its node goes.

        Raises:
            ValueError: there was never such an instance.
        """
        return node_name_of(self._machine(instance.id).private_ip, self._region.name)

    def _machine(self, instance_id: str) -> Machine:
        machine = self._machines.find(instance_id)
        if machine is None:
            raise ValueError(f"there was never an instance {instance_id}")
        return machine

    def _changed(self, machine: Machine) -> None:
        if machine.cluster != self.cluster_name:
            return
        match machine.instance.state:
            case InstanceState.RUNNING:
                for running in self._running:
                    running(machine.instance, machine.request)
            case InstanceState.SHUTTING_DOWN | InstanceState.STOPPING if (
                machine.instance.id not in self._down
            ):
                self._down[machine.instance.id] = None
                for gone in self._gone:
                    gone(machine.instance)
            case _:
                pass

    # --- for users: what there is

    def add_subnet(self, subnet: Subnet) -> None:
        """Add a subnet."""
        self._region.vpc.add_subnet(subnet)

    def add_security_group(self, group: SecurityGroup) -> None:
        """Add a security group."""
        self._region.vpc.add_group(group)

    @property
    def iam(self) -> InstanceProfiles:
        """The roles there are, to be added and deleted, and the profiles made from them."""
        return self._region.profiles

    def add_image(self, image: Image) -> None:
        """Add a machine image."""
        self._region.images.add(image)

    @property
    def region(self) -> str:
        """The name of the region, such as "us-east-1"."""
        return self._region.name

    @property
    def subnets(self) -> tuple[Subnet, ...]:
        """All subnets, in the order they were added."""
        return self._region.vpc.subnets

    @property
    def security_groups(self) -> tuple[SecurityGroup, ...]:
        """All security groups, in the order they were added."""
        return self._region.vpc.groups

    def free_addresses(self, subnet_id: str) -> int:
        """Return how many addresses of a subnet are free."""
        return next(self._region.vpc.free(s) for s in self._region.vpc.subnets if s.id == subnet_id)

    def spot_price(self, instance_type: str, zone: str) -> float | None:
        """Return what spot costs now, in $/h; None where the type has no price."""
        return self._region.market.price_at(instance_type, zone, self._region.agenda.monotonic())

    @property
    def reservations(self) -> Reservations:
        """The capacity reservations there are, to be added and cancelled."""
        return self._region.reservations

    @property
    def placement_groups(self) -> PlacementGroups:
        """The placement groups there are, to be made anew and deleted."""
        return self._region.placement_groups

    def set_memory(self, instance_type: str, memory: int) -> None:
        """Let nodes of a type that boot from now on have so many bytes, whatever the catalogue says."""
        self.outside.check_pools(instance_type, ANY)
        self._sizes.set_memory(instance_type, memory)

    def set_shortfalls(self, *shortfalls: Shortfall) -> None:
        """Let nodes that boot from now on have less than was promised in these ways, and in no others."""
        self._sizes.set_shortfalls(*shortfalls)

    # --- for users: the present state

    @property
    def calls(self) -> Mapping[str, int]:
        """The number of calls of each API of EC2 through the port, refused ones included."""
        return self._throttle.calls

    @property
    def refused(self) -> Mapping[str, int]:
        """The number of calls that each API refused as one too many."""
        return self._throttle.refused

    def all_instances(self) -> tuple[InstanceRecord, ...]:
        """Return all instances this cluster ever had, oldest first, visible or not."""
        return tuple(m.record() for m in self._own())

    def live(self) -> tuple[InstanceRecord, ...]:
        """Return the instances this cluster has that are not on their way out, oldest first."""
        return tuple(m.record() for m in self._own() if m.instance.live)

    def cost(self, now: datetime | None = None) -> float:
        """Return what this cluster's instances have cost until `now` (or until the present), in $."""
        return fsum(m.cost(now or self._region.agenda.now()) for m in self._own())

    def costs(self, group: Callable[[Instance], str]) -> dict[str, float]:
        """Return what this cluster's instances have cost until the present, in $, by `group`."""
        now = self._region.agenda.now()
        costs: defaultdict[str, float] = defaultdict(float)
        for machine in self._own():
            costs[group(machine.instance)] += machine.cost(now)
        return dict(costs)

    def _own(self) -> list[Machine]:
        return [m for m in self._machines.all() if m.cluster == self.cluster_name]

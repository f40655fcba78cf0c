"""The port `Cloud` on EC2."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from treenail.adapters.ec2.discovery.asking import Aws, matching
from treenail.adapters.ec2.discovery.cache import unheard
from treenail.adapters.ec2.discovery.capacity_reservations import described_reservations
from treenail.adapters.ec2.discovery.statuses import InstanceStatuses
from treenail.adapters.ec2.launch.boot_check import BootCheck
from treenail.adapters.ec2.launch.descriptions import Descriptions
from treenail.adapters.ec2.launch.dry_run import DryRuns
from treenail.adapters.ec2.launch.fleets import Fleets, NodeClasses
from treenail.adapters.ec2.launch.listing import SharedListing
from treenail.adapters.ec2.launch.profiles import Profiles
from treenail.adapters.ec2.launch.tags import OURS, written
from treenail.adapters.ec2.launch.templates import Show, Templates, unseen
from treenail.adapters.ec2.launch.terminations import Terminations
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.interruption.impairments import (
    OF_RESERVATIONS,
    OF_STATUSES,
    Impairment,
    Impairments,
    of_ending_reservations,
)
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.launch.trial_launch import trial_launch
from treenail.domain.model.errors import InvalidError, NodeClassNotReadyError, PortError
from treenail.domain.model.fleets import (
    CLUSTER_TAG,
    LAUNCH_TAG,
    FleetAnswer,
    FleetRequest,
    Instance,
    InstanceState,
)
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_class_status import (
    INSTANCE_PROFILE_READY,
    NodeClassMeaning,
    NodeClassStatus,
)
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.observed_capacity import CapacityObserved
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Clock, Log
from treenail.domain.status.node_class_parts import look_up

if TYPE_CHECKING:  # the types of requests and answers are not there at run time
    from types_boto3_ec2.type_defs import FilterTypeDef, InstanceTypeDef

_PAGE: Final = 1000
_STATES: Final = tuple(state.value for state in InstanceState if state is not InstanceState.TERMINATED)
_EXISTING: Final = matching("instance-state-name", _STATES)


class LearningNodeClasses(NodeClasses, Protocol):
    """Status of node classes, and what was learned of their nodes."""

    def node_class_status(self, node_class: NodeClass) -> NodeClassStatus: ...
    def learn(self, observation: CapacityObserved) -> bool: ...


class EC2Cloud:
    """EC2 through boto3. Implements the port `Cloud`. Threads may share it.

    `node_classes` knows what node classes mean in the account and what they can launch, `facts` what
    nodes must be told of the cluster; `default_instance_profile` is for node classes that name none. Where
    the account is `isolated`, IAM is out of reach. Unless what is `reserved` is to be used, EC2 is not
    told of capacity reservations. With `dry_run`, it is tried whether node classes may be
    launched from; `tags` are those of everything that is launched. `log` is told what was made, or not
    looked up, `show` what metrics there are of that.
    """

    def __init__(  # noqa: PLR0913 (each is a setting or a part of it)
        self,
        aws: Aws,
        clock: Clock,
        *,
        cluster_name: str,
        node_classes: LearningNodeClasses,
        facts: Callable[[], ClusterFacts],
        default_instance_profile: str = "",
        isolated: bool = False,
        prices: PriceOverrides = NO_OVERRIDES,
        reserved: bool = True,
        dry_run: bool = False,
        tags: Mapping[str, str] = MappingProxyType({}),
        log: Log = unheard,
        show: Show = unseen,
    ) -> None:
        self._aws = aws
        self._clock = clock
        self._cluster_name = cluster_name
        self._node_classes = node_classes
        self._profiles = Profiles(
            aws, clock, cluster=cluster_name, default=default_instance_profile, isolated=isolated
        )
        self._templates = Templates(aws, clock, cluster_name, log, show)
        self._boot_check = BootCheck(facts)
        self._descriptions = Descriptions()
        self._fleets = Fleets(
            aws,
            clock,
            node_classes=node_classes,
            facts=facts,
            templates=self._templates,
            descriptions=self._descriptions,
            find=self.launched_by,
            profile_of=self._profiles.of,
            prices=prices,
            reserved=reserved,
        )
        self._dry_runs = DryRuns(aws, clock, self._templates, self._fleets.prepare, log) if dry_run else None
        self._tags = tags
        self._log = log
        self._statuses = InstanceStatuses(aws)
        self._listing = SharedListing(clock, self._list)
        self._terminations = Terminations(
            lambda ids, purpose: aws.retries.call(
                "ec2",
                "TerminateInstances",
                partial(aws.clients.ec2.terminate_instances, InstanceIds=ids),
                purpose=purpose,
                resources=len(ids),
            )
        )

    def instance_types(self, node_class: NodeClass, kubelet: Kubelet) -> tuple[InstanceType, ...]:
        """Return all types that `node_class` could launch, sorted by name, with offerings and prices.

        Raises:
            NodeClassNotReadyError: its subnets, security groups or images are not to be found, its
                instances would have no profile or no user data they could boot with, or a dry run found
                that the controller may not launch them.
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says.
        """
        if not node_class.launch_template:
            self._profiles.of(node_class)
            self._boot_check.check(node_class, kubelet)
        forbidden = None if self._dry_runs is None else self._dry_runs.forbidden(node_class.ref)
        if forbidden is not None:
            raise NodeClassNotReadyError(f"{node_class.ref}: {forbidden.message}", reason=forbidden.reason)
        types = self._node_classes.instance_types(node_class, kubelet)
        self._descriptions.note_catalogue(node_class.ref, types)
        return types

    def learn(self, observation: CapacityObserved) -> bool:
        """Take in how much a node turned out to have; return whether that is news."""
        return self._node_classes.learn(observation)

    def launch(self, request: FleetRequest) -> FleetAnswer:
        """Buy `request.count` instances at once, or fewer.

        Where this process made the call before, or the instances say that another did, the answer is
        what was bought then.

        Raises:
            InvalidError: the request is refused as a whole, or its token was used for another one.
            NodeClassNotReadyError: the node class cannot be launched from.
            UnavailableError, TooManyRequestsError: as `CallRetries` says.
        """
        if request.tags.get(CLUSTER_TAG) != self._cluster_name:
            raise InvalidError(f"instances of {self._cluster_name} bear the tag {CLUSTER_TAG}")
        try:
            return self._fleets.create(request)
        finally:
            self._listing.outdate()

    def launched_by(self, token: str) -> tuple[Instance, ...]:
        """Return the instances tagged with `token` that are visible yet, sorted by id.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says.
        """
        return self._describe(matching(f"tag:{LAUNCH_TAG}", (token,)))

    def instances(self) -> tuple[Instance, ...]:
        """Return all visible instances of this cluster, terminated ones left out, sorted by id.

        What changed in EC2 within the last second may not show, but for what was done here.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says.
        """
        return self._listing.get()

    def impairments(self) -> Impairments:
        """Return the impairments of this cluster's instances: failed checks and planned events.

        Statuses and reservations are looked up separately: if one look-up fails, the result of the other
        stands.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says; nothing is known.
        """
        unwell, no_status = _attempt(self._statuses.impairments)
        # A status does not say whose instance it is of.
        ours = {instance.id: instance for instance in self._listing.get()}
        reserved = sorted({one.reservation for one in ours.values() if one.reservation})
        ending, no_reservation = _attempt(lambda: self._ending(ours.values(), reserved))
        if no_status is not None and (no_reservation is not None or not reserved):
            raise no_status
        unanswered: frozenset[InterruptionKind] = frozenset()
        for error, kinds in ((no_status, OF_STATUSES), (no_reservation, OF_RESERVATIONS)):
            if error is not None:
                unanswered |= kinds
                self._log(
                    "cannot look up all that is wrong with instances", level="warning", error=str(error)
                )
        return Impairments(
            found=(*(one for one in unwell if one.instance_id in ours), *ending), unanswered=unanswered
        )

    def _ending(self, ours: Iterable[Instance], reserved: Sequence[str]) -> tuple[Impairment, ...]:
        known = described_reservations(self._aws, reserved, self._clock.now())
        return of_ending_reservations(ours, known)

    def terminate(self, ids: tuple[str, ...], *, purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Terminate instances; those that are gone already do not matter.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says; it may not be done.
        """
        try:
            self._terminations.terminate(ids, purpose)
        finally:
            self._listing.outdate()

    def tag(self, instance_id: str, tags: Mapping[str, str]) -> None:
        """Give an instance `tags` beside those it has, or in their place.

        Raises:
            NotFoundError: there is no such instance, or it is not to be seen yet.
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says.
        """
        create = partial(self._aws.clients.ec2.create_tags, Resources=[instance_id], Tags=written(tags))
        self._aws.retries.call("ec2", "CreateTags", create)

    def node_class_status(self, node_class: NodeClass, pools: tuple[NodePool, ...] = ()) -> NodeClassStatus:
        """Return what a node class means now; an instance profile it wants is made where it is not there.

        Where it could be launched from, it is tried whether that may be done for one of its `pools`.
        """
        found = self._node_classes.node_class_status(node_class)
        if node_class.launch_template:
            return found
        profile, condition = look_up(INSTANCE_PROFILE_READY, lambda: self._profiles.of(node_class))
        meaning = replace(found.meaning, instance_profile=profile or "")
        conditions = (*found.conditions, condition)
        if all(one.status is Status.TRUE for one in conditions):
            conditions += self._authorization(node_class, meaning, pools)
        return NodeClassStatus(meaning=meaning, conditions=conditions)

    def _authorization(
        self, node_class: NodeClass, meaning: NodeClassMeaning, pools: tuple[NodePool, ...]
    ) -> tuple[Condition, ...]:
        """Return the condition that the controller may not launch from a class, where that is so."""
        if self._dry_runs is None:
            return ()
        trial = partial(trial_launch, node_class, pools, cluster_name=self._cluster_name, tags=self._tags)
        forbidden = self._dry_runs.of(
            node_class,
            meaning,
            pools,
            lambda: trial(
                self._node_classes.instance_types(node_class, node_class.kubelet), now=self._clock.now()
            ),
        )
        return () if forbidden is None else (forbidden.condition,)

    def release(self, node_class: NodeClass) -> None:
        """Delete the instance profiles and launch templates that were made for a node class.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says; some may be deleted.
        """
        self._templates.release(node_class.ref.name)
        self._profiles.release(node_class)

    def collect_profiles(self, node_classes: Collection[NodeClass]) -> tuple[str, ...]:
        """Delete this cluster's instance profiles that are not needed, and return their names, sorted.

        Raises:
            UnavailableError, TooManyRequestsError, InvalidError: as `CallRetries` says; some may be deleted.
        """
        return self._profiles.collect(node_classes, self._borne())

    def _borne(self) -> frozenset[str]:
        """Return the names of the instance profiles of instances of the cluster."""
        filters = [matching(f"tag:{CLUSTER_TAG}", (self._cluster_name,)), _EXISTING]
        arns = (
            instance.get("IamInstanceProfile", {}).get("Arn", "") for instance in self._instances(filters)
        )
        return frozenset(arn.rpartition("/")[2] for arn in arns)

    def _list(self) -> tuple[Instance, ...]:
        # Instances of the cluster that others manage have its tag too.
        listed = self._describe(matching("tag-key", OURS))
        self._templates.tidy(idle=not listed)
        return listed

    def _describe(self, which: FilterTypeDef) -> tuple[Instance, ...]:
        filters = [
            which,
            matching(f"tag:{CLUSTER_TAG}", (self._cluster_name,)),
            _EXISTING,
        ]
        found = map(self._descriptions.described, self._instances(filters))
        return tuple(sorted(found, key=lambda instance: instance.id))

    def _instances(self, filters: list[FilterTypeDef]) -> Iterator[InstanceTypeDef]:
        ask = partial(self._aws.clients.ec2.describe_instances, Filters=filters, MaxResults=_PAGE)
        for page in self._aws.pages("ec2", "DescribeInstances", ask):
            for reservation in page["Reservations"]:
                yield from reservation.get("Instances", ())


def _attempt(
    look_up: Callable[[], tuple[Impairment, ...]],
) -> tuple[tuple[Impairment, ...], PortError | None]:
    """Return what is found, or why nothing could be."""
    try:
        return look_up(), None
    except PortError as error:
        return (), error

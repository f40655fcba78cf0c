"""NodePoolSelector: says which pools may buy, in weight order, and what each could buy now."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias, assert_never

from cachetools import LRUCache, TLRUCache, TTLCache

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.planning import PackRequested, SnapshotTaken
from treenail.domain.cluster.refused_pods import MoreToBuy
from treenail.domain.launch.capacity_pauses import CapacityPauses
from treenail.domain.launch.launching import CapacityRanOut, LaunchFailed
from treenail.domain.launch.unavailable_offerings import UNAVAILABLE_SECONDS, UnavailableOfferings
from treenail.domain.model.catalogue_keys import CatalogueKey, OfferingKey, catalogue_key, sell_alike
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.observed_capacity import AllocatableObserved, CapacityObserved, MemoryObserved
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref
from treenail.domain.model.zonal_shifts import ZonesShifted
from treenail.domain.packing.problem import MinValuesPolicy, PoolOffer
from treenail.domain.packing.refusal_reasons import Reason, Refusal
from treenail.domain.ports import Cloud, VolumeCost
from treenail.domain.scheduling.broken_classes import BrokenClasses, unready
from treenail.domain.scheduling.catalogue_delays import CatalogueDelays
from treenail.domain.scheduling.last_catalogues import LastCatalogues
from treenail.domain.scheduling.nothing_to_buy import NothingToBuy, nothing_to_buy
from treenail.domain.scheduling.reserved_offers import PoolStocks
from treenail.domain.scheduling.type_gauges import type_series
from treenail.domain.status.readiness import NodeClassChecked, NodeClassesWanted
from treenail.domain.telemetry.call_delays import noting_delays
from treenail.domain.telemetry.delays import CallDelay, Delay, placed
from treenail.domain.telemetry.log_facts import filled_by_system

_CATALOGUE_SECONDS: Final = 300.0
# Others use reservations too, so what is left of one must be counted again.
_RESERVED_SECONDS: Final = 60.0
_FAILURE_SECONDS: Final = 10.0
_MOST_CATALOGUES: Final = 512


@dataclass(frozen=True, slots=True)
class _BackAgain:
    """Private timer tick: offerings that had run out may be had again."""


@dataclass(frozen=True, slots=True)
class _CatalogueRead:
    """The cloud's answer to what a node class can launch, and the delays within the call."""

    key: CatalogueKey
    of: NodeClass
    asked_at: datetime
    outcome: Outcome[tuple[InstanceType, ...]]
    delays: tuple[Delay, ...]


@dataclass(slots=True)
class _Selection:
    """The offers of a snapshot's pools: those of now, the ordinary ones, and the pools without any."""

    offers: list[PoolOffer] = field(default_factory=list)
    ordinary: list[PoolOffer] = field(default_factory=list)
    not_ready: list[Refusal] = field(default_factory=list)
    unanswered: list[str] = field(default_factory=list)

    def refuse(self, pool: NodePool, why: str) -> None:
        self.not_ready.append(Refusal(pool.name, Reason.POOL_NOT_READY, why))

    @property
    def differ(self) -> bool:
        """True if more would be offered ordinarily."""
        return any(
            now.instance_types is not then.instance_types or now.limits_left != then.limits_left
            for now, then in zip(self.offers, self.ordinary, strict=True)
        )


SelectorInbox: TypeAlias = (
    SnapshotTaken
    | NodeClassesWanted
    | CapacityRanOut
    | ZonesShifted
    | LaunchFailed
    | CapacityObserved
    | _BackAgain
    | _CatalogueRead
)


def _until(_key: CatalogueKey, stock: PoolStocks, now: float) -> float:
    """Return until when a catalogue is good."""
    return now + (_RESERVED_SECONDS if stock.reserved else _CATALOGUE_SECONDS)


class NodePoolSelector(DomainActor[SelectorInbox]):
    """Join a snapshot with what its pools can buy, the heaviest pool first.

    Owns the catalogues by node class and the offerings that ran out (kept from use for three minutes, and
    from consolidation for longer each time).
    Tells the packer `PackRequested`, the reporter what the cloud says of every node class, and of which
    pools nothing can be bought, and the cluster state `MoreToBuy`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        packer: Ref[PackRequested],
        reporter: Ref[NodeClassChecked | NothingToBuy],
        cluster: Ref[MoreToBuy],
        cloud: Cloud,
        volume_cost: VolumeCost = lambda _: 0.0,
        min_values: MinValuesPolicy = MinValuesPolicy.STRICT,
        types_shown: bool = False,
    ) -> None:
        super().__init__(runtime)
        self._packer = packer
        self._reporter = reporter
        self._cluster = cluster
        self._cloud = cloud
        self._volume_cost = volume_cost
        self._strict = min_values is MinValuesPolicy.STRICT
        self._types_shown = types_shown
        clock = runtime.timers.monotonic
        self._catalogues: TLRUCache[CatalogueKey, PoolStocks] = TLRUCache(
            _MOST_CATALOGUES, _until, timer=clock
        )
        self._last_read = LastCatalogues(_MOST_CATALOGUES)
        # Those that the last one serves for.
        self._unanswered = LRUCache[CatalogueKey, None](_MOST_CATALOGUES)
        self._problems: TTLCache[CatalogueKey, Exception] = TTLCache(
            _MOST_CATALOGUES, _FAILURE_SECONDS, timer=clock
        )
        self._ran_out = UnavailableOfferings(clock)
        self._pauses = CapacityPauses(runtime.dice.uniform)
        self._back_at: deque[float] = deque()
        self._sold = LRUCache[tuple[NodeClassRef, Kubelet], tuple[InstanceType, ...]](_MOST_CATALOGUES)
        self._broken = BrokenClasses()
        self._delays = CatalogueDelays()
        # The last decision's, and the last one to be consolidated: the first is not to wait for the other.
        self._waiting: dict[bool, SnapshotTaken] = {}
        self._excluded: dict[str, object] = {}
        # Catalogues being read, with capacity observed meanwhile: the answer may not include it.
        self._asked: dict[CatalogueKey, tuple[CapacityObserved, ...]] = {}

    def handle(self, message: SelectorInbox) -> None:
        match message:
            case SnapshotTaken():
                self._waiting[message.consolidation is not None] = message
            case NodeClassesWanted():
                for node_class, kubelet in message.wanted:
                    key = CatalogueKey(node_class.ref, node_class.resource_version, kubelet)
                    self._ask(key, node_class, kubelet)
            case CapacityRanOut() | ZonesShifted():
                self._close(message)
                self._show_types()
            case _BackAgain():
                self._tell_returned()
                self._show_types()
            case LaunchFailed():
                self._broken.failed(message.node_class, message.why, self._timers.monotonic())
            case MemoryObserved() | AllocatableObserved():
                self._unlearn(message)
            case _CatalogueRead():
                self._note(message)
            case _:
                assert_never(message)
        if self._waiting:
            # Nothing may expire between one look at it and the next.
            with self._catalogues.timer, self._problems.timer:
                for taken in tuple(self._waiting.values()):
                    self._select(taken)

    def _close(self, closed: CapacityRanOut | ZonesShifted) -> None:
        if isinstance(closed, ZonesShifted):
            if self._ran_out.shift(closed.zone_ids):
                self._cluster.tell(MoreToBuy(again=True))
            return
        self._ran_out.note(closed)
        self._pauses.ran_out(closed.offerings, self._timers.monotonic())
        self._back_at.append(self._timers.monotonic() + UNAVAILABLE_SECONDS)
        self._await_return()

    def _await_return(self) -> None:
        if self._back_at:
            seconds = self._back_at[0] - self._timers.monotonic()
            self.later("back again", _BackAgain(), seconds=max(seconds, 0.0))

    def _tell_returned(self) -> None:
        now = self._timers.monotonic()
        if self._back_at and self._back_at[0] <= now:
            self._cluster.tell(MoreToBuy(again=True))
        while self._back_at and self._back_at[0] <= now:
            self._back_at.popleft()
        self._await_return()

    def _tell_news(self, key: CatalogueKey, sold: tuple[InstanceType, ...]) -> None:
        """Send ClusterState that other types are sold than before; a failed read (no types) is no news."""
        one = (key.node_class, key.kubelet)
        before, self._sold[one] = self._sold.get(one), sold
        self._show_types()
        if sold and before is not None and not sell_alike(before, sold):
            self._cluster.tell(MoreToBuy(again=False))

    def _show_types(self) -> None:
        if self._types_shown:
            sold = tuple((types, self._ran_out.of(ref)) for (ref, _), types in tuple(self._sold.items()))
            self._telemetry.show("instance types", partial(type_series, sold))

    def _unlearn(self, learned: CapacityObserved) -> None:
        """Give up the catalogues that were wrong about nodes: they are read anew when they are needed."""
        for key, stock in list(self._catalogues.items()):
            if learned.disproves(stock.types):
                del self._catalogues[key]
        self._last_read.unlearn(learned)
        for key in self._asked:
            self._asked[key] += (learned,)

    def _note(self, read: _CatalogueRead) -> None:
        observations = self._asked.pop(read.key, ())
        error = read.outcome.error if isinstance(read.outcome, Failed) else None
        self._delays.note(read.key, read.delays, error, since=read.asked_at, now=self._timers.now())
        match read.outcome:
            case Done(value=types):
                self._problems.pop(read.key, None)
                self._unanswered.pop(read.key, None)
                self._tell_news(read.key, types)
                if not any(observation.disproves(types) for observation in observations):
                    self._catalogues[read.key] = PoolStocks(types)
                    self._last_read.note(read.of, read.key.kubelet, self._catalogues[read.key])
            case failed:
                self._fail(read, failed.error)
        self._reporter.tell(_checked(read))

    def _fail(self, read: _CatalogueRead, error: Exception) -> None:
        """Take in that a catalogue was not read. Where EC2 only did not answer, the last one serves on."""
        key, said = read.key, {"node_class": str(read.key.node_class), "why": str(error)}
        if isinstance(error, NodeClassNotReadyError):
            # What could be bought before cannot any more.
            self._catalogues.pop(key, None)
            self._last_read.forget(read.of, key.kubelet)
        last = self._last_read.of(read.of, key.kubelet)
        if last is not None and key in self._catalogues and key not in self._unanswered:
            return  # it is good for some time yet
        self._problems[key] = error
        if last is not None:
            self._unanswered[key], self._catalogues[key] = None, last
            self.log("catalogue not answered, the last one serves", **said)
            return
        self._unanswered.pop(key, None)
        self._tell_news(key, ())
        self.log("nodepool cannot buy for now", **said)

    def _serves(self, key: CatalogueKey, taken: SnapshotTaken) -> bool:
        """Return whether there is a catalogue for this: no move follows from prices that may be hours old."""
        return key in self._catalogues and (taken.consolidation is None or key not in self._unanswered)

    def _select(self, taken: SnapshotTaken) -> None:
        """Ask for the catalogues that are missing; with none missing, pass the snapshot on."""
        found = _Selection()
        needed: dict[CatalogueKey, None] = {}
        missing = False
        now = self._timers.monotonic()
        paused: frozenset[OfferingKey] = frozenset()
        if taken.consolidation is not None:
            paused = self._pauses.paused(now)
        for pool in taken.snapshot.pools:
            node_class = taken.snapshot.node_classes.get(str(pool.node_class))
            problem = unready(pool, node_class) or self._broken.problem(pool.node_class, now)
            if problem or node_class is None:
                found.refuse(pool, problem)
                continue
            key = catalogue_key(pool, node_class)
            needed[key] = None
            serves, error = self._serves(key, taken), self._problems.get(key)
            if error is None and (not serves or key in self._unanswered):
                self._ask(key, node_class, pool.kubelet or node_class.kubelet)
            if serves:
                ran_out = self._ran_out.of(pool.node_class) | paused
                offers = self._offers(pool, node_class, key, taken, ran_out)
                found.offers += offers
                # Only decisions on pods are compared with what there is ordinarily.
                moves = taken.consolidation is not None
                found.ordinary += offers if moves else self._ordinary(pool, key, taken, offers)
            elif error is None:
                missing = True
            else:
                found.refuse(pool, str(error))
                if not isinstance(error, NodeClassNotReadyError):
                    found.unanswered.append(pool.name)
        if not missing:
            # The traces of decisions tell of delays, and consolidation passes have none.
            decides = taken.consolidation is None
            delays = (
                self._delays.during(needed, taken.snapshot.taken_at, self._timers.now()) if decides else ()
            )
            self._pass_on(taken, found, delays)

    def _pass_on(self, taken: SnapshotTaken, found: _Selection, delays: tuple[Delay, ...]) -> None:
        del self._waiting[taken.consolidation is not None]
        self.within(taken.decision.context)
        self._packer.tell(
            PackRequested(
                decision=taken.decision,
                snapshot=taken.snapshot,
                offers=tuple(found.offers),
                not_ready=tuple(found.not_ready),
                selected_at=self._timers.now(),
                consolidation=taken.consolidation,
                delays=delays,
                ordinary_offers=tuple(found.ordinary) if found.differ else (),
                unanswered=tuple(found.unanswered),
            )
        )

    def _offers(
        self,
        pool: NodePool,
        node_class: NodeClass,
        key: CatalogueKey,
        taken: SnapshotTaken,
        ran_out: frozenset[OfferingKey],
    ) -> tuple[PoolOffer, ...]:
        self._tell_excluded(pool, key, taken)
        offers = (
            self._catalogues[key]
            .of(pool)
            .offers(
                pool,
                taken.snapshot.limits_left.get(pool.name),
                ran_out=ran_out,
                taken=taken.snapshot.in_reservations,
                volume_cost=self._volume_cost(node_class),
            )
        )
        on_offer = (one for offer in offers for one in offer.instance_types)
        nothing = nothing_to_buy(pool, on_offer, strict=self._strict)
        # Offerings kept from consolidation may be for sale to waiting pods: what it cannot buy is not
        # reported.
        if nothing is not None and taken.consolidation is None:
            self._reporter.tell(nothing)
        return offers

    def _ordinary(
        self, pool: NodePool, key: CatalogueKey, taken: SnapshotTaken, offers: tuple[PoolOffer, ...]
    ) -> tuple[PoolOffer, ...]:
        """Return a pool's `offers` as they would be had nothing run out, and were all claims launched."""
        left = offers[-1].limits_left
        # Where there is no pool of less weight, claims that hold more than they need push nobody there.
        if pool.weight > min(one.weight for one in taken.snapshot.pools):
            left = taken.snapshot.limits_at_most.get(pool.name, left)
        return self._catalogues[key].of(pool).ordinary(offers, self._ran_out.closed, left)

    def _tell_excluded(self, pool: NodePool, key: CatalogueKey, taken: SnapshotTaken) -> None:
        """Log once, for each state, the types that kubelet, system and daemons would fill by themselves."""
        daemons = tuple(d.spec for d in taken.snapshot.daemons)
        about = (pool.name, key, tuple((d.uid, d.resource_version) for d in taken.snapshot.daemons))
        if self._excluded.get(pool.name) == about:
            return
        self._excluded[pool.name] = about
        filled = filled_by_system(pool, self._catalogues[key].of(pool).types, daemons)
        if filled:
            self.log(
                "excluding instance types: no room beside kubelet, system and daemons",
                logger="controller.provisioner",
                level="debug",
                pool=pool.name,
                instance_types=list(filled),
            )

    def _ask(self, key: CatalogueKey, node_class: NodeClass, kubelet: Kubelet) -> None:
        if key in self._asked:
            return
        self._asked[key] = ()
        asked_at, delays = self._timers.now(), list[CallDelay]()
        self._tasks.run(
            ("ec2", "catalogue", str(key)),
            noting_delays(lambda: self._cloud.instance_types(node_class, kubelet), delays),
            self.me,
            lambda outcome: _CatalogueRead(key, node_class, asked_at, outcome, placed(delays, asked_at)),
        )


def _checked(read: _CatalogueRead) -> NodeClassChecked:
    """Return what an answer says of the node class itself."""
    match read.outcome:
        case Done():
            return NodeClassChecked(key=read.key)
        case Failed(error=NodeClassNotReadyError() as error):
            return NodeClassChecked(
                key=read.key, problem=str(error), selector=error.selector, reason=error.reason
            )
        case failed:
            return NodeClassChecked(key=read.key, problem=str(failed.error), certain=False)

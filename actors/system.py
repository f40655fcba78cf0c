"""The system: which actors exist, and whom each knows. The only module that sees all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Lock
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from treenail.actors.batcher import Batcher, BatcherInbox
from treenail.actors.budget_arbiter import ArbiterInbox, BudgetArbiter
from treenail.actors.buffer_reporter import BufferReporter
from treenail.actors.cluster_state.cluster_state import ClusterState, ClusterStateInbox
from treenail.actors.cluster_state.subscribers import Subscribers
from treenail.actors.consolidator import Consolidator, ConsolidatorInbox
from treenail.actors.disruptor import Disruptor, DisruptorInbox
from treenail.actors.drift_inspector import DriftInspector
from treenail.actors.early_binder import EarlyBinder, EarlyBinderInbox
from treenail.actors.event_publisher import EventPublisher, EventPublisherInbox
from treenail.actors.fleet_launcher.fleet_launcher import FleetLauncher, LauncherInbox
from treenail.actors.fleet_launcher.launch_calls import LaunchCalls
from treenail.actors.instance_tagger import InstanceTagger
from treenail.actors.interruption_listener import InterruptionListener, ListenerInbox
from treenail.actors.node_class_controller import NodeClassController, NodeClassControllerInbox
from treenail.actors.node_lifecycle import LifecycleInbox, NodeLifecycle
from treenail.actors.node_pool_selector import NodePoolSelector, SelectorInbox
from treenail.actors.node_repairer import NodeRepairer, NodeRepairerInbox
from treenail.actors.overlay_inspector import OverlayInspector
from treenail.actors.packer import Packer, PackerInbox
from treenail.actors.pod_event_recorder import PodEventRecorder
from treenail.actors.pod_watcher import PodWatcher
from treenail.actors.pool_sizer import PoolSizer, SizerInbox
from treenail.actors.pool_usage_reporter import PoolUsageReporter
from treenail.actors.provisioning_trial import ProvisioningTrial
from treenail.actors.runtime.base import DomainActor, ForwardRef, NullRef, Runtime
from treenail.actors.runtime.measured_cloud import MeasuredCloud
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.standby import Standby, Topic, of_batcher, of_disruptor, of_nodes, of_sizer
from treenail.actors.soft_tainter import SoftTainter, SoftTainterInbox
from treenail.actors.status_poller import StatusPoller
from treenail.actors.status_reporter import ReporterInbox, StatusReporter
from treenail.actors.termination_actor.drain_calls import DrainCalls
from treenail.actors.termination_actor.termination_actor import TerminationActor, TerminationInbox
from treenail.actors.zonal_shift_poller import ZonalShiftPoller
from treenail.domain.cluster.batch_window import BatchWindow
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.disruption.node_repair import RepairPolicy
from treenail.domain.interruption.notice_responses import InterruptionPolicy
from treenail.domain.model.runtime import Ref
from treenail.domain.packing.problem import PackingSettings
from treenail.domain.ports import Cloud
from treenail.domain.telemetry.node_gauges import no_candidates

M = TypeVar("M")
P = ParamSpec("P")
_NOBODY: Final = NullRef()


class Host(Protocol):
    """The host, which gives actors a place to run: threads in production, a seeded world in tests."""

    def host(self, make: Callable[P, DomainActor[Any]], *args: P.args, **kwargs: P.kwargs) -> Ref[Any]:
        """Make an actor of the class `make`, give it a place, and return where to reach it."""
        ...

    def end(self, ref: Ref[Any]) -> None:
        """End a hosted actor after its waiting messages. Later messages are dropped."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSettings:
    """The settings of the whole system. Times in seconds.

    Without `provisioning` nothing is bought, and nothing is given up of the system's own will either, as it
    could not be bought again; nodes that must go (interrupted, deleted) are still seen out. It comes back by
    itself after `resumes_after` seconds, never where that is None. `tags` are those of all that is launched.
    `repair` says which nodes are replaced as unhealthy, by default none; without `consolidation` no node with
    pods is given up to save costs, and without `static_capacity` pools with replicas are left to others.
    Pods with claims on devices are placed only with `resource_claims`. Metrics name the `provider` of nodes;
    with `types_shown` there are some for each instance type and offering. Facts on pods are gathered for
    `gather_seconds` at most before the other actors are told, where many come.
    """

    cluster_name: str
    provisioning: bool = True
    resumes_after: float | None = None
    batch_idle_seconds: float = 1.0
    batch_max_seconds: float = 10.0
    batch_urgent_seconds: float = 0.1
    packing: PackingSettings = field(default_factory=PackingSettings)
    gather_seconds: float = 0.0
    early_binding: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    interruptions: InterruptionPolicy = field(default_factory=InterruptionPolicy)
    repair: tuple[RepairPolicy, ...] = ()
    consolidation: ConsolidationRules | None = field(default_factory=ConsolidationRules)
    provider: str = "aws"
    types_shown: bool = False
    static_capacity: bool = False
    resource_claims: bool = False

    @property
    def promise_lasts(self) -> timedelta:
        """The time for which a promise on a node in use holds."""
        return timedelta(seconds=max(2 * self.batch_max_seconds, 10.0))


class System:
    """The whole actor system, wired. It does nothing until `start`."""

    def __init__(
        self,
        runtime: Runtime,
        host: Host,
        ports: Ports,
        settings: SystemSettings,
        *,
        observer: Ref[object] | None = None,
    ) -> None:
        self._runtime = runtime
        self._host = host
        self._ports = replace(ports, cloud=_measured(ports.cloud, runtime, settings.provider))
        self._settings = settings
        self._observer: Ref[Any] = observer or NullRef()
        # By pool: the reference to its disruptor, and the disruptors made so far.
        self._disruptors: dict[str, Ref[DisruptorInbox]] = {}
        self._hosted_disruptors: dict[str, Ref[DisruptorInbox]] = {}
        self._making_disruptor = Lock()
        # Actors that are made when provisioning comes back; messages to them are kept until then.
        self._provisions = settings.provisioning
        self._standing_by: dict[str, Callable[[], None]] = {}
        self.model = ClusterModel(
            promise_lasts=settings.promise_lasts,
            static_capacity=settings.static_capacity,
            resource_claims=settings.resource_claims,
            spread_by_default=bool(settings.packing.default_spread),
        )
        self.cluster: ForwardRef[ClusterStateInbox] = ForwardRef()
        self.selector: ForwardRef[SelectorInbox] = ForwardRef()
        self.lifecycle: ForwardRef[LifecycleInbox] = ForwardRef()
        self.termination: ForwardRef[TerminationInbox] = ForwardRef()
        self.arbiter: ForwardRef[ArbiterInbox] = ForwardRef()
        self.event_publisher: ForwardRef[EventPublisherInbox] = ForwardRef()
        self.reporter: ForwardRef[ReporterInbox] = ForwardRef()
        self.consolidator: ForwardRef[ConsolidatorInbox] = ForwardRef()
        self.soft_tainter: ForwardRef[SoftTainterInbox] = ForwardRef()
        self.listener: ForwardRef[ListenerInbox] = ForwardRef()
        self.sizer: ForwardRef[SizerInbox] = ForwardRef()
        self._wire_planning()
        self._wire_cluster()
        self._wire_nodes()
        self._wire_warnings()
        self.sizer.leads_to(self._sizer())

    def start(self) -> None:
        """Open the sources: from now on facts come in. The sinks are there already."""
        self._ports.queue.feed(self.listener)
        self._ports.reader.feed(self.cluster)

    def stop(self) -> None:
        """Close the sources. What is under way goes on."""
        self._ports.reader.stop()
        self._ports.queue.stop()

    def provision(self) -> None:
        """Make the provisioning actors, if they are on standby: from now on nodes are bought and given up."""
        with self._making_disruptor:
            self._provisions = True
            waiting, self._standing_by = self._standing_by, {}
            for make in waiting.values():
                make()

    def _hosted(
        self, make: Callable[Concatenate[Runtime, P], DomainActor[Any]], *args: P.args, **kwargs: P.kwargs
    ) -> Ref[Any]:
        return self._host.host(make, self._runtime, *args, **kwargs)

    def _provisioner(self, name: str, make: Callable[[], Ref[M]], topic: Callable[[M], Topic]) -> Ref[M]:
        """Return the provisioning actor `name`: made now, or when provisioning comes back, or never."""
        if self._provisions:
            return make()
        if self._settings.resumes_after is None:
            return NullRef()
        standby = Standby(topic)
        self._standing_by[name] = lambda: standby.leads_to(make())
        return standby

    def _wire_planning(self) -> None:
        packing, ports = self._settings.packing, self._ports
        packer: Ref[PackerInbox] = self._hosted(
            Packer,
            cluster=self.cluster,
            consolidator=self.consolidator,
            solver=ports.solver,
            settings=packing,
        )
        self.reporter.leads_to(
            self._hosted(StatusReporter, selector=self.selector, writer=ports.writer, observer=self._observer)
        )
        self.selector.leads_to(
            self._hosted(
                NodePoolSelector,
                packer=packer,
                reporter=self.reporter,
                cluster=self.cluster,
                cloud=ports.cloud,
                volume_cost=ports.volume_cost,
                min_values=packing.min_values,
                types_shown=self._settings.types_shown,
            )
        )

    def _wire_cluster(self) -> None:
        ports = self._ports
        self.event_publisher.leads_to(self._hosted(EventPublisher, writer=ports.writer))
        batcher, consolidation = self._batcher(), self._consolidation_rules()
        self.consolidator.leads_to(self._consolidator(consolidation))
        subscribers = Subscribers(
            batcher=batcher,
            pod_watcher=self._hosted(PodWatcher, batcher=batcher, writer=ports.writer),
            reporter=self.reporter,
            node_class_controller=self._node_class_controller(),
            selector=self.selector,
            launcher=self._launcher(),
            lifecycle=self.lifecycle,
            termination=self.termination,
            arbiter=self.arbiter,
            pool_usage_reporter=self._hosted(PoolUsageReporter, writer=ports.writer),
            event_publisher=self.event_publisher,
            tagger=self._hosted(InstanceTagger, writer=ports.writer, cloud=ports.cloud),
            listener=self.listener,
            recorder=self._hosted(PodEventRecorder, writer=ports.writer),
            overlay_inspector=self._hosted(OverlayInspector, reporter=self.reporter, cloud=ports.cloud),
            buffer_reporter=self._hosted(BufferReporter, writer=ports.writer),
            drift_inspector=self._hosted(DriftInspector, disruptor=self._disruptor, cloud=ports.cloud),
            disruptor=self._disruptor,
            open_disruptor=self._open_disruptor,
            close_disruptor=self._close_disruptor,
            early_binder=self._early_binder(),
            node_repairer=self._node_repairer(),
            trial=self._trial(),
            zonal_shift_poller=self._zonal_shift_poller(),
            consolidator=self.consolidator,
            sizer=self.sizer,
            soft_tainter=self.soft_tainter,
        )
        self.cluster.leads_to(
            self._hosted(
                ClusterState,
                subscribers=subscribers,
                model=self.model,
                promise_lasts=self._settings.promise_lasts,
                consolidation=consolidation,
                gather_seconds=self._settings.gather_seconds,
            )
        )

    def _batcher(self) -> Ref[BatcherInbox]:
        settings = self._settings
        window = BatchWindow(
            idle_seconds=settings.batch_idle_seconds,
            max_seconds=settings.batch_max_seconds,
            urgent_seconds=settings.batch_urgent_seconds,
        )
        return self._provisioner(
            "batcher", lambda: self._hosted(Batcher, cluster=self.cluster, window=window), of_batcher
        )

    def _trial(self) -> Ref[PoolsSeen] | None:
        seconds = self._settings.resumes_after
        if self._settings.provisioning or seconds is None:
            return None
        return self._hosted(
            ProvisioningTrial, writer=self._ports.writer, seconds=seconds, resume=self.provision
        )

    def _zonal_shift_poller(self) -> Ref[PoolsSeen] | None:
        ports = self._ports
        if ports.zonal_shifts is None:
            return None
        return self._hosted(
            ZonalShiftPoller,
            cluster=self.cluster,
            shifts=ports.zonal_shifts,
            cloud=ports.cloud,
            writer=ports.writer,
        )

    def _node_class_controller(self) -> Ref[NodeClassControllerInbox]:
        ports = self._ports
        return self._hosted(
            NodeClassController,
            reporter=self.reporter,
            disruptor=self._disruptor,
            sizer=self.sizer,
            reader=ports.reader,
            writer=ports.writer,
            cloud=ports.cloud,
        )

    def _early_binder(self) -> Ref[EarlyBinderInbox] | None:
        if not self._settings.early_binding:
            return None
        ports = self._ports
        return self._hosted(EarlyBinder, writer=ports.writer, cloud=ports.cloud)

    def _node_repairer(self) -> Ref[NodeRepairerInbox] | None:
        """Return the NodeRepairer, if node repair is on and nodes can be bought."""
        settings = self._settings
        if not settings.repair:
            return None
        return self._provisioner(
            "repairer",
            lambda: self._hosted(
                NodeRepairer, cluster=self.cluster, writer=self._ports.writer, policies=settings.repair
            ),
            of_nodes,
        )

    def _consolidation_rules(self) -> ConsolidationRules | None:
        rules, cost = self._settings.consolidation, self._settings.packing.node_overhead_cost
        return None if rules is None else replace(rules, node_overhead_cost=cost)

    def _consolidator(self, rules: ConsolidationRules | None) -> Ref[ConsolidatorInbox]:
        """Return the Consolidator, if consolidation is on and nodes can be bought; else nobody."""
        if rules is None:
            self._runtime.telemetry.show("nodes to consolidate", no_candidates)
            return _NOBODY
        return self._provisioner(
            "consolidator",
            lambda: self._hosted(
                Consolidator,
                cluster=self.cluster,
                soft_tainter=self.soft_tainter,
                writer=self._ports.writer,
                rules=rules,
            ),
            lambda _: None,
        )

    def _sizer(self) -> Ref[SizerInbox]:
        """Return the PoolSizer, if nodes can be bought."""
        static = self._settings.static_capacity
        return self._provisioner(
            "sizer", lambda: self._hosted(PoolSizer, cluster=self.cluster, static_capacity=static), of_sizer
        )

    def _launcher(self) -> Ref[LauncherInbox]:
        ports = self._ports
        calls = LaunchCalls(
            reader=ports.reader,
            writer=ports.writer,
            cloud=ports.cloud,
            cluster_name=self._settings.cluster_name,
            tags=self._settings.tags,
        )
        return self._provisioner(
            "launcher",
            lambda: self._hosted(
                FleetLauncher,
                cluster=self.cluster,
                selector=self.selector,
                lifecycle=self.lifecycle,
                termination=self.termination,
                calls=calls,
            ),
            of_nodes,
        )

    def _wire_nodes(self) -> None:
        ports = self._ports
        self.lifecycle.leads_to(
            self._hosted(
                NodeLifecycle,
                observer=self._observer,
                selector=self.selector,
                reporter=self.reporter,
                termination=self.termination,
                reader=ports.reader,
                writer=ports.writer,
                cloud=ports.cloud,
            )
        )
        self.soft_tainter.leads_to(self._hosted(SoftTainter, writer=ports.writer))
        calls = DrainCalls(reader=ports.reader, writer=ports.writer, cloud=ports.cloud)
        self.termination.leads_to(
            self._hosted(
                TerminationActor,
                arbiter=self.arbiter,
                observer=self._observer,
                calls=calls,
                writer=ports.writer,
                forced=self._settings.interruptions.delete_pods_at_deadline,
            )
        )
        self.arbiter.leads_to(
            self._hosted(
                BudgetArbiter,
                cluster=self.cluster,
                termination=self.termination,
                disruptor=self._disruptor,
                event_publisher=self.event_publisher,
            )
        )

    def _wire_warnings(self) -> None:
        ports = self._ports
        self.listener.leads_to(
            self._hosted(
                InterruptionListener,
                cluster=self.cluster,
                queue=ports.queue,
                policy=self._settings.interruptions,
            )
        )
        self._hosted(
            StatusPoller, cluster=self.cluster, cloud=ports.cloud, policy=self._settings.interruptions
        )

    # Several actors ask for disruptors, each on a thread of its own.

    def _disruptor(self, pool: str) -> Ref[Any]:
        """Return the disruptor of a pool, a NullRef if there is none; for no pool, the Consolidator."""
        if not pool:
            return self.consolidator
        with self._making_disruptor:
            return self._disruptors.get(pool, _NOBODY)

    def _open_disruptor(self, pool: str) -> None:
        """Make the disruptor of a new pool, unless there is one."""
        with self._making_disruptor:
            if pool not in self._disruptors:
                self._disruptors[pool] = self._provisioner(
                    _of_pool(pool), lambda: self._host_disruptor(pool), of_disruptor
                )

    def _host_disruptor(self, pool: str) -> Ref[DisruptorInbox]:
        hosted: Ref[DisruptorInbox] = self._hosted(
            Disruptor, pool=pool, cluster=self.cluster, writer=self._ports.writer
        )
        self._hosted_disruptors[pool] = hosted
        return hosted

    def _close_disruptor(self, pool: str) -> None:
        """End the disruptor of a pool that is gone."""
        with self._making_disruptor:
            self._disruptors.pop(pool, None)
            self._standing_by.pop(_of_pool(pool), None)
            hosted = self._hosted_disruptors.pop(pool, None)
            if hosted is not None:
                self._host.end(hosted)


def _measured(cloud: Cloud, runtime: Runtime, provider: str) -> Cloud:
    return MeasuredCloud(cloud, runtime.telemetry, runtime.timers.monotonic, provider)


def _of_pool(pool: str) -> str:
    return f"disruptor of {pool}"

"""A rehearsal: the whole system on fakes in virtual time. Apply manifests, let time pass, look."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.world import Process, SeededDice, World
from treenail.actors.system import System
from treenail.adapters.api.manifests import Decoded
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.ec2.catalogue import Catalogue as ShippedCatalogue
from treenail.adapters.ec2.volume_costs import volume_cost
from treenail.adapters.embed.adoption import settle
from treenail.adapters.embed.applied import decode_applied, decode_leniently
from treenail.adapters.embed.arguments import check_ref, implements, one_of, seconds_of, spell_of
from treenail.adapters.embed.conditions import Conditions
from treenail.adapters.embed.history import NodeRecord, node_records
from treenail.adapters.embed.implied import namespaces_of
from treenail.adapters.embed.machines import NodeMachines
from treenail.adapters.embed.messages import Messages
from treenail.adapters.embed.observer import Observer
from treenail.adapters.embed.pod_history import PodHistory
from treenail.adapters.embed.port_calls import PortCalls
from treenail.adapters.embed.priced_catalogue import PricedCatalogue
from treenail.adapters.embed.startup_agents import TAINT_REMOVED, StartupAgents
from treenail.adapters.embed.teed_telemetry import TeedTelemetry
from treenail.adapters.embed.timeline import Timeline
from treenail.adapters.embed.told_account import account_of
from treenail.adapters.embed.waiting import main_reasons
from treenail.adapters.fake.clock import MachineClock
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.cluster.objects import check_kind
from treenail.adapters.fake.ec2 import FakeEC2, Spell
from treenail.adapters.fake.ec2.capacity import ANY
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.fake.ec2.zonal_shifts import FakeZonalShifts
from treenail.adapters.fake.queue import FakeQueue
from treenail.adapters.fake.telemetry import RecordingTelemetry
from treenail.adapters.runtime.clock import SteadyClock
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import READY, Condition, Node, NodeClaim, Status
from treenail.domain.model.pods import Phase, Pod
from treenail.domain.model.zonal_shifts import ZonalShift
from treenail.domain.ports import Cloud

# Between two looks at a condition: asking after every message would cost more than the messages.
_GLANCE: Final = 0.25


class Rehearsal:
    """A cluster, EC2 and the controller, all in this process. Equal seeds give equal histories.

    Times are virtual: seconds since the start, or durations such as "5m". Nothing happens until time
    passes (`run`, `run_until`).
    """

    def __init__(self, *, seed: int = 0, conditions: Conditions | None = None) -> None:
        self.conditions = (conditions or Conditions()).resolved()
        start = self.conditions.start
        self.world = World(seed) if start is None else World(seed, start=start)
        self.telemetry = RecordingTelemetry()
        self.timeline = Timeline(self.world.monotonic)
        self.queue = FakeQueue(agenda=self.world, dice=self._fork())
        settings, faults = self.conditions.cluster, self.conditions.cluster_faults
        self.cluster = FakeCluster(agenda=self.world, dice=self._fork(), settings=settings, faults=faults)
        self.catalogue: Catalogue = self.conditions.catalogue or ShippedCatalogue.shipped()
        self.pod_history = PodHistory(self.cluster, lambda: self.seconds)
        self.ec2 = FakeEC2(
            agenda=self.world,
            dice=self._fork(),
            catalogue=PricedCatalogue(self.catalogue, self.conditions.prices),
            cluster_name=self.conditions.system.cluster_name,
            queue=self.queue,
            settings=self.conditions.ec2,
            faults=self.conditions.ec2_faults,
            zones=self.conditions.zones,
            account=account_of(self.conditions.account),
        )
        self.zonal_shifts = FakeZonalShifts(self.world)
        self.machines = NodeMachines(self.cluster, self.ec2)
        if self.conditions.untainted_after is not None:
            StartupAgents(self.cluster, self.world, self.conditions.untainted_after, self._untainted)
        self.machine_clock = MachineClock(self.world)
        self._luck = self._fork()
        self.messages = Messages()
        self.messages.listen(self.timeline.note)
        self.calls = PortCalls()
        # The second at which a controller that is down starts again, if that is planned.
        self._starts_at: float | None = None
        made = self.ec2 if self.conditions.cloud is None else self.conditions.cloud(self)
        self._cloud: Cloud = implements(made, Cloud, "cloud")
        self._start()
        if isinstance(self.conditions.snapshot, Decoded):
            settle(self.cluster, self.ec2, self.conditions.snapshot)

    def _fork(self) -> random.Random:
        return random.Random(self.world.dice.getrandbits(64))  # noqa: S311

    def _untainted(self, node: str, key: str) -> None:
        self.timeline.add(TAINT_REMOVED, {"node": node, "key": key})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.system.stop()
        self.process.kill()

    # --- the controller

    def _start(self) -> None:
        self.clock = SteadyClock(self.machine_clock, self.telemetry)
        self.clock.hear(self.cluster.now())
        self.process = Process(self.world, latency=self._latency, clock=self.clock)
        self.process.taps.append(lambda actor, message: self.messages.note(type(actor).__name__, message))
        told, telemetry = self.conditions.telemetry, self.telemetry
        self.runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=SeededDice(self._luck),
            telemetry=telemetry if told is None else TeedTelemetry(telemetry, told),
            failed=_raise,
        )
        cluster, queue = self.cluster, self.queue
        ports = Ports(
            reader=self.calls.through(cluster),
            writer=self.calls.through(cluster),
            cloud=self.calls.through(self._cloud),
            queue=self.calls.through(queue),
            solver=self.conditions.solver,
            volume_cost=volume_cost,
            zonal_shifts=self.zonal_shifts if self.conditions.zonal_shifts else None,
        )
        host = self.conditions.actor
        own = None if host is None else check_ref("Conditions: actor: what it returned", host(self))
        self.system = System(
            self.runtime,
            self.process,
            ports,
            self.conditions.system,
            observer=Observer(self.messages, self.machines, self.conditions.observer, own),
        )
        self.system.start()

    def _latency(self, key: tuple[str, ...]) -> tuple[float, float]:
        match key[0]:
            case "kubernetes":
                self.clock.hear(self.cluster.now())
                return self.cluster.latency(key)
            case "ec2" | "sqs":
                return self.ec2.latency(key)
            case _:
                return 0.0, 0.0

    def crash(self) -> None:
        """Kill the controller, as by SIGKILL, at this very moment.

        Raises:
            ValueError: it is down already.
        """
        if not self.process.alive:
            at = self._starts_at
            next_start = "restart() it first" if at is None else f"it starts at {at:g} s: let time pass first"
            raise ValueError(f"crash: the controller is down already: {next_start}")
        self.timeline.add("ControllerKilled", {})
        self.process.kill()
        self.system.stop()
        self.ec2.forget_observations()

    def restart(self, *, after: float | str = 0.0) -> None:
        """Start the controller anew, so long after now, in place of an earlier restart that is still to come.

        Raises:
            ValueError: it runs.
        """
        if self.process.alive:
            raise ValueError("restart: the controller runs: crash() it first")
        at = self._starts_at = self.seconds + seconds_of("restart: after", after)

        def start() -> None:
            # A later call has planned another start, or made this one.
            if self._starts_at == at:
                self._starts_at = None
                self.timeline.add("ControllerStarted", {})
                self._start()

        self.world.call_at(at, start)

    # --- time

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.world.monotonic()

    def run(self, duration: float | str) -> None:
        """Let `duration` pass ("5m", or seconds)."""
        __tracebackhide__ = True
        self.world.run(until=self.seconds + seconds_of("run", duration))

    def run_until(self, condition: Callable[[], bool], *, within: float | str = "15m") -> None:
        """Let time pass until `condition` holds; it is looked at four times a virtual second.

        Raises:
            AssertionError: it does not hold `within` that time; the message has a summary, which says why
                pods wait and drains are blocked.
            TypeError: it is no function.
        """
        __tracebackhide__ = True
        if not callable(condition):
            raise TypeError(
                f"run_until: {condition!r} is no function: it is asked again and again; write lambda: ..."
            )
        end = self.seconds + seconds_of("run_until: within", within)
        while not condition():
            if self.seconds >= end:
                raise AssertionError(f"not so within {within}: {self.summary()}")
            self.world.run(until=min(end, self.seconds + _GLANCE))

    # --- the cluster's users

    def apply(self, *what: str | Path | ApiObject) -> Decoded:
        """Apply manifests (a path, or YAML text) and objects.

        The node classes of pools may be among them, or there already.

        Raises:
            ManifestError: a manifest cannot be read or says something wrong. Nothing is applied then.
        """
        decoded, objects = decode_applied(what, self.cluster.objects(NodeClass), self.world.now())
        self.cluster.apply(*self._new_namespaces(decoded), *decoded.objects(), *objects)
        return decoded

    def _new_namespaces(self, decoded: Decoded) -> tuple[Namespace, ...]:
        """Return the namespaces that manifests use and that are not among them."""
        there = {one.name for one in (*self.cluster.objects(Namespace), *decoded.namespaces)}
        return tuple(one for one in namespaces_of(decoded) if one.name not in there)

    def apply_file(self, path: str | Path) -> Decoded:
        """Apply a file as a cluster without our validation would: what is wrong is set aside.

        What the controller watches is there, for it to find; the rest is only named in the timeline.

        Raises:
            ManifestError: the file cannot be read at all.
        """
        decoded = decode_leniently(path, self.world.now())
        self.timeline.add("Applied", {"file": str(path)})
        self.cluster.apply(*self._new_namespaces(decoded), *decoded.objects())
        for error in decoded.set_aside:
            if not self.machines.apply_broken(error):
                problem = f"{error.field}: {error.problem}" if error.field else error.problem
                self.timeline.add("ObjectSetAside", {"object": error.object, "problem": problem})
        return decoded

    def scale(
        self, name: str, replicas: int, *, namespace: str = "default", kind: str = "Deployment"
    ) -> None:
        """Set the replicas of a workload."""
        check_kind(kind)
        self.timeline.add("Scaled", {"name": name, "replicas": replicas})
        self.cluster.scale(name, replicas, namespace=namespace, kind=kind)

    def delete(
        self,
        kind: str,
        name: str,
        *,
        namespace: str = "default",
        cascade: Literal["background", "foreground"] = "background",
    ) -> None:
        """Delete an object, as `kubectl delete` would.

        Raises:
            NotFoundError: it is not there.
            ValueError: there is no such kind; the nearest is named.
        """
        check_kind(kind)
        self.timeline.add("Deleted", {"kind": kind, "name": name})
        self.cluster.delete(kind, name, namespace=namespace, cascade=cascade)

    # --- what EC2 does by itself

    def interrupt(self, node: str | None = None) -> str:
        """Announce the end of a spot node in two minutes; return its name.

        Unless it is named, it is the oldest of which that was not announced yet.

        Raises:
            ValueError: there is no such node, or no spot node that was not told; or the named one was.
        """
        outside = self.ec2.outside
        return self._to_instance(
            "SpotInterruptionAnnounced", outside.interrupt, node, spot=True, but=outside.being_interrupted
        )

    def recommend_rebalance(self, node: str | None = None) -> str:
        """Announce that a spot node is at risk; return its name."""
        return self._to_instance(
            "RebalanceRecommended", self.ec2.outside.recommend_rebalance, node, spot=True
        )

    def terminate_outside(self, node: str | None = None) -> str:
        """Terminate a node's instance behind the controller's back; return its name."""
        return self._to_instance("TerminatedOutside", self.ec2.outside.terminate, node)

    def impair(self, node: str | None = None) -> str:
        """Let the status check of a node's instance fail from now on; return its name."""
        return self._to_instance("StatusCheckFailed", self.ec2.health.fail, node)

    def _to_instance(
        self,
        event: str,
        do: Callable[[str], object],
        node: str | None,
        *,
        spot: bool = False,
        but: Callable[[str], bool] = lambda _: False,
    ) -> str:
        name, instance_id = self.machines.find(node, spot=spot, but=but)
        self.timeline.add(event, {"node": name, "instance": instance_id})
        do(instance_id)
        return name

    def sicken(self, node: str | None = None) -> str:
        """Let a node's kubelet say from now on that it is not ready; return its name."""
        name, _ = self.machines.find(node, spot=False)
        self.timeline.add("NodeSickened", {"node": name})
        self.cluster.set_node_condition(name, Condition(READY, Status.FALSE, "KubeletNotReady"))
        return name

    def run_out(self, instance_type: str, zone: str, capacity_type: str | None = None) -> None:
        """Let EC2 have no more of a type in a zone; "*" is any, and "c5.*" any type of a family.

        `capacity_type` is "spot", "on-demand" or "reserved"; all of them unless said.

        Raises:
            ValueError: there is no such type, family, zone or capacity type; the nearest is named.
        """
        self.ec2.outside.check_pools(instance_type, zone, capacity_type)
        of = {} if capacity_type is None else {"capacityType": capacity_type}
        self.timeline.add("CapacityEnds", {"instanceType": instance_type, "zone": zone, **of})
        self.ec2.outside.run_out(instance_type, zone, capacity_type)

    def lose_zone(self, zone: str) -> None:
        """End all instances of a zone at once; nothing can be bought there from now on.

        Raises:
            ValueError: there is no such zone; the nearest is named.
        """
        if zone == ANY:
            raise ValueError("lose_zone: name one zone")
        self.ec2.outside.check_pools(ANY, zone)
        lost = [n for n in self.history() if n.zone == zone and n.terminated_at is None]
        self.timeline.add("ZoneLost", {"zone": zone, "nodes": len(lost)})
        self.run_out(ANY, zone)
        for node in lost:
            self.ec2.outside.terminate(node.instance_id)

    def shift_away(self, zone_id: str, duration: float | str) -> None:
        """Shift the cluster away from a zone, by its id ("use1-az2"), for so long.

        Raises:
            ValueError: there is no such zone, or shifts are not heeded: `Conditions(zonal_shifts=True)` does.
        """
        span = timedelta(seconds=seconds_of("shift_away", duration))
        if known := self.ec2.outside.zone_ids():
            one_of("shift_away", zone_id, known)
        if not self.conditions.zonal_shifts:
            raise ValueError("shift_away: nothing heeds it without Conditions(zonal_shifts=True)")
        self.timeline.add("ZonalShift", {"zone": zone_id})
        self.zonal_shifts.begin(ZonalShift(zone_id, self.world.now() + span))

    def ec2_under(self, spell: Spell | str, duration: float | str) -> None:
        """Let something be wrong with all of EC2 for a while."""
        known, seconds = spell_of(spell), seconds_of("ec2_under", duration)
        self.timeline.add("SpellBegan", {"spell": known.value, "seconds": seconds})
        self.ec2.outside.begin(known, seconds)

    def publish_image(self, alias: str) -> None:
        """Publish newer images of a family, such as "al2023": nodes of what was the latest have drifted.

        Raises:
            ValueError: there is no such family, the nearest is named; or the alias is of one version.
        """
        self.timeline.add("ImagePublished", {"alias": self.ec2.outside.publish_image(alias)})

    def delete_templates(self) -> None:
        """Delete the launch templates behind the controller's back."""
        self.timeline.add("TemplatesDeleted", {})
        self.ec2.outside.delete_templates()

    def queue_gone(self, duration: float | str) -> None:
        """Delete the interruption queue with all that is in it, and make it anew after a while."""
        seconds = seconds_of("queue_gone", duration)
        self.timeline.add("QueueGone", {"seconds": seconds})
        self.queue.go(seconds)

    def api_server_away(self, duration: float | str) -> None:
        """Let the API server answer nothing for a while."""
        seconds = seconds_of("api_server_away", duration)
        self.timeline.add("ApiServerAway", {"seconds": seconds})
        self.cluster.unavailable_until(self.seconds + seconds)

    def step_clock(self, by: float | str) -> None:
        """Set the clock of the machine that the controller runs on, back where that is negative."""
        seconds = seconds_of("step_clock", by, back=True)
        self.timeline.add("ClockStepped", {"of": "controller", "seconds": seconds})
        self.machine_clock.step(seconds)

    def step_cluster_clock(self, by: float | str) -> None:
        """Set the clocks of the API server and the nodes, back where that is negative."""
        seconds = seconds_of("step_cluster_clock", by, back=True)
        self.timeline.add("ClockStepped", {"of": "cluster", "seconds": seconds})
        self.cluster.step_clock(seconds)

    # --- the present state

    def pods(self, namespace: str | None = None) -> tuple[Pod, ...]:
        """Return the pods, less those of DaemonSets."""
        return tuple(p for p in self.cluster.pods() if not p.daemon and namespace in (None, p.namespace))

    def running(self) -> int:
        """Return how many pods (less those of DaemonSets) are running and ready."""
        return sum(p.phase is Phase.RUNNING and p.ready and p.deleting_since is None for p in self.pods())

    def nodes(self) -> tuple[Node, ...]:
        """Return the nodes there are."""
        return self.cluster.nodes()

    def claims(self) -> tuple[NodeClaim, ...]:
        """Return the claims there are."""
        return self.cluster.claims()

    def history(self) -> tuple[NodeRecord, ...]:
        """Return every node there ever was, oldest first."""
        start = self.world.now() - timedelta(seconds=self.seconds)
        return node_records(self.ec2.all_instances(), self.machines.known, self.telemetry.spans(), start)

    def cost(self) -> float:
        """Return what all instances have cost so far, in $."""
        return self.ec2.cost(self.world.now())

    def decisions(self) -> Sequence[tuple[str, str]]:
        """Return (decision id, trace id) of every decision whose plan was committed, in order."""
        return self._traces("decide", "treenail.decision.id")

    def ends(self) -> Sequence[tuple[str, str]]:
        """Return (node, trace id) of every node that was seen out to its instance's end, in order."""
        return self._traces("terminate", "k8s.node.name")

    def _traces(self, span: str, attribute: str) -> Sequence[tuple[str, str]]:
        found = (one for one in self.telemetry.spans() if one.name == span)
        return [(str(one.attributes[attribute]), one.context.trace_id) for one in found]

    def summary(self) -> str:
        """Return a summary of the present state in one line, with why pods wait and drains are blocked."""
        pods = self.pods()
        pending = [p.key for p in pods if not p.node_name]
        counts = (
            f"at {self.seconds:.0f} s: {len(pods)} pods, {self.running()} running, pending {pending[:5]}, "
            f"{len(self.nodes())} nodes, {len(self.claims())} claims, {len(self.ec2.live())} instances"
        )
        return "; ".join((counts, *main_reasons(self.cluster, self.pod_history, self.timeline)))


def _raise(error: BaseException) -> None:
    raise error

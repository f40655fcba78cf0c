"""FleetLauncher: carries out committed plans: writes the claims, buys instances, assigns them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from treenail.actors.fleet_launcher.launch_calls import LaunchCalls
from treenail.actors.fleet_launcher.launch_recorder import LaunchRecorder
from treenail.actors.fleet_launcher.messages import Adopt, Flushed, GiveUp, Probe, Resume, StepDone
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.life_lines import tell_bought, tell_created, tell_failed, tell_launched
from treenail.actors.runtime.publishing import publish, write_beside
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import ClaimGivenUp, disrupted_labels
from treenail.domain.launch.circuit_breaker import CircuitBreaker
from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_groups import Batch
from treenail.domain.launch.launch_options import LaunchOptions
from treenail.domain.launch.launch_steps import (
    CallFleet,
    FindInstances,
    MarkClaim,
    PrepareBatch,
    RecordInstance,
    Step,
    WriteClaim,
    again,
    cause_of,
    cause_unmet,
    first,
    next_look,
)
from treenail.domain.launch.launch_table import LaunchEvent, LaunchState, failure_of
from treenail.domain.launch.launch_trace import launch_context
from treenail.domain.launch.launching import (
    CapacityRanOut,
    ClaimFailed,
    LaunchFailed,
    NodeLaunched,
    deal,
    exhausted_offerings,
    full_zones,
    launch_again,
    launches,
)
from treenail.domain.launch.unavailable_offerings import UnavailableOfferings
from treenail.domain.model import labels
from treenail.domain.model.backoff import CALLS, RELAUNCHES
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError
from treenail.domain.model.fleets import FleetAnswer, Instance
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref
from treenail.domain.model.stand_alone_claims import failed_attempts, launch_failed, retried
from treenail.domain.model.zonal_shifts import ZonesShifted
from treenail.domain.telemetry import metrics
from treenail.domain.telemetry.call_delays import noting_delays
from treenail.domain.telemetry.delays import CallDelay, placed

_MOST_ATTEMPTS: Final = 8
_FLUSH_SECONDS: Final = 0.2
_ADOPT_AFTER: Final = 2.0
_SAY_AGAIN_SECONDS: Final = 5.0

Tick: TypeAlias = Flushed | StepDone | Adopt | Resume | GiveUp | Probe
LauncherInbox: TypeAlias = PlanCommitted | NodeChanged | CapacityRanOut | ZonesShifted | Step | Tick


class FleetLauncher(DomainActor[LauncherInbox]):
    """See every claim through to its instance, across lost answers and restarts.

    Owns the launches in flight. Tells the lifecycle `NodeLaunched`, the selector `CapacityRanOut` and
    `LaunchFailed`, the cluster state what it wrote and `ClaimFailed`, who sees claims out `ClaimGivenUp`.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        cluster: Ref[ObjectSeen | ClaimFailed],
        selector: Ref[CapacityRanOut | LaunchFailed],
        lifecycle: Ref[NodeLaunched],
        termination: Ref[ClaimGivenUp],
        calls: LaunchCalls,
    ) -> None:
        super().__init__(runtime)
        self._cluster = cluster
        self._selector = selector
        self._lifecycle = lifecycle
        self._termination = termination
        self._calls = calls
        self._book = LaunchBook()
        self._breaker = CircuitBreaker()
        self._recorder = LaunchRecorder(runtime.telemetry, runtime.timers, self._book)
        self._ran_out = UnavailableOfferings(runtime.timers.monotonic)

    def handle(self, message: LauncherInbox) -> None:
        match message:
            case PlanCommitted():
                self._begin(message)
            case NodeChanged():
                self._watch(message)
            case CapacityRanOut():
                self._ran_out.note(message)
            case ZonesShifted():
                self._ran_out.shift(message.zone_ids)
            case Flushed():
                self._recorder.flushed(message)
                self._go(self._book.move(message.names, LaunchEvent.FLUSHED))
            case StepDone():
                self._step_done(message)
            case Adopt():
                self._adopt()
            case Resume():
                if self._book.resume(message.name):
                    self._adopt()
            case GiveUp():
                self._take_back(message)
            case Probe():
                self._probe(message.node_class)
            case _:
                self._try(message)

    # --- beginnings

    def _begin(self, plan: PlanCommitted) -> None:
        if not plan.claims:
            return
        self.within(plan.decision.context)
        now = self._timers.now()
        names = tuple(n for b in self._book.open(plan, now) for n in b.names)
        self._recorder.begin(names)
        # What was decided must be readable before anything comes of it.
        self._tasks.run(
            ("telemetry", "flush"),
            lambda: self._telemetry.flush(_FLUSH_SECONDS),
            self.carrying(),
            lambda outcome: Flushed(names, now, isinstance(outcome, Done) and outcome.value),
        )

    def _watch(self, changed: NodeChanged) -> None:
        claim = changed.view.claim if changed.view is not None else None
        if claim is not None and claim.launched and self._book.instance(changed.name) is not None:
            self._launched(changed.name, claim)  # whatever was answered, if anything was
        if claim is None and not self._book.goes_on(changed.name):
            self._recorder.gone(changed.name)
        if self._book.note(changed):
            self.later("adopt", Adopt(), seconds=_ADOPT_AFTER)
        elif self._book.unwanted(changed):
            self._take_back(GiveUp(changed.name))

    def _adopt(self) -> None:
        for batch in self._book.adopt(self._timers.now()):
            self._recorder.adopt(batch.names)
            self._about(batch.names[0])
            self.log("resuming launch", nodeclaims=list(batch.names))
            self._go(self._book.move(batch.names, LaunchEvent.ADOPTED))
        at = self._book.next_adoption()
        if at is not None:
            seconds = (at - self._timers.now()).total_seconds()
            self.later("adopt", Adopt(), seconds=max(_ADOPT_AFTER, seconds))

    def _about(self, *names: str) -> None:
        """Let what this handler logs and tells from now on belong to the launch of a claim, if we know it."""
        for claim in self._book.claims(names):
            self.within(launch_context(claim))

    # --- steps

    def _go(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._try(step)

    def _try(self, step: Step) -> None:
        if not (isinstance(step, CallFleet) and self._held(step)):
            self._carry_out(step)

    def _carry_out(self, step: Step) -> None:
        call = self._calls.of(step, self._book, self._ran_out)
        if call is None:
            return
        key, function = call
        started_at, delays = self._timers.now(), list[CallDelay]()
        if isinstance(step, CallFleet):
            self._recorder.delays.send(step, self._book.about(step), started_at)
        self._tasks.run(
            key,
            noting_delays(function, delays),
            self.carrying(),
            lambda outcome: StepDone(step, started_at, outcome, placed(delays, started_at)),
        )

    def _step_done(self, done: StepDone) -> None:
        self._about(*self._book.about(done.step)[:1])
        self._recorder.tried(done)
        if isinstance(done.step, CallFleet):
            self._note_answer(done.step, done.outcome)
        match done.outcome:
            case Done(value=value):
                self._succeeded(done.step, value, done.started_at)
            case Failed(error=error):
                self._failed(done.step, error)

    def _succeeded(self, step: Step, value: object, asked_at: datetime) -> None:
        match step:
            case WriteClaim(name=name) if isinstance(value, NodeClaim):
                self._written(name, value)
            case PrepareBatch() if isinstance(value, LaunchOptions):
                self._prepared(step, value)
            case MarkClaim(name=name, token=token) if isinstance(value, NodeClaim):
                self._go(self._book.marked_now(name, token, value))
            case CallFleet() if isinstance(value, FleetAnswer):
                self._answered(step, value)
            case FindInstances() if isinstance(value, tuple):
                self._found(step, value, asked_at)
            case RecordInstance(name=name) if isinstance(value, NodeClaim):
                self._cluster.tell(ObjectSeen(object=value))
                self._launched(name, value)
            case _:
                raise TypeError(f"{step} answered {type(value).__name__}")

    def _failed(self, step: Step, error: Exception) -> None:
        if isinstance(step, CallFleet) and self._book.all_leaving(step.token):
            # What this call bought, if anything, is found by those who see the claims out.
            self._happen(self._book.about(step), LaunchEvent.DELETED)
            return
        event, name = failure_of(step, error), type(step).__name__
        if event is LaunchEvent.UNANSWERED and isinstance(step, CallFleet) and self._held(step):
            self.log("launches of the node class wait", level="warning", error=str(error))
        elif event is LaunchEvent.UNANSWERED and step.attempt < _MOST_ATTEMPTS:
            seconds = CALLS.after(step.attempt + 1, self.chance())
            self.log(
                "launch step is tried again", level="warning", step=name, seconds=seconds, error=str(error)
            )
            self.later(first(step), again(step), seconds=seconds)
        else:
            self.log("launch step failed", step=name, error=str(error))
            self._give_up(step, event, error)

    def _give_up(self, step: Step, event: LaunchEvent, error: Exception) -> None:
        names, node_class = self._book.about(step), self._book.class_of(step)
        self._book.move(names, event)
        if node_class is not None and any(self._book.state(name) is LaunchState.FAILED for name in names):
            self._selector.tell(LaunchFailed(node_class=node_class, why=str(error)))
        steps = self._book.give_over(step)
        self._end(names, cause_of(error), str(error))
        self._go(steps)

    def _happen(
        self, names: tuple[str, ...], event: LaunchEvent, cause: Cause = Cause.LAUNCH_FAILED, why: str = ""
    ) -> None:
        self._go(self._book.move(names, event))
        self._end(names, cause, why)

    def _end(self, names: tuple[str, ...], cause: Cause, why: str) -> None:
        """Work no longer on those of the claims that came to an end, for this `cause` where they failed."""
        for name in names:
            match self._book.state(name):
                case LaunchState.FAILED:
                    self._fail(name, cause, why)
                case LaunchState.UNWRITTEN:
                    self._fail(name, cause, why, written=False)
                case LaunchState.LET_BE:
                    self._recorder.gone(name)
                    self._book.forget(name)
                case LaunchState.LEFT:
                    self._book.hand_back(name)
                    self.later("adopt", Adopt(), seconds=CALLS.after(_MOST_ATTEMPTS))
                case _:
                    pass  # it goes on

    # --- calls that wait while the circuit breaker of their node class is open

    def _held(self, call: CallFleet) -> bool:
        """Return whether a call is to wait; then it is made some time."""
        node_class = self._book.class_of(call)
        if node_class is None or not self._breaker.holds(node_class, call):
            return False
        self._recorder.delays.hold(call, self._timers.now())
        self._arm(node_class)
        return True

    def _note_answer(self, call: CallFleet, outcome: Outcome[object]) -> None:
        """Take in the outcome of a call. An answer releases all calls that the circuit breaker holds."""
        node_class = self._book.class_of(call)
        if node_class is None:
            return
        if isinstance(outcome, Failed) and isinstance(outcome.error, UnavailableError | TooManyRequestsError):
            self._breaker.failed(node_class)
            self._arm(node_class)
            return
        for held in self._breaker.answered(node_class):
            self._carry_out(held)

    def _probe(self, node_class: NodeClassRef) -> None:
        call = self._breaker.probe(node_class, wanted=lambda token: self._book.group(token) is not None)
        if call is not None:
            self._carry_out(call)

    def _arm(self, node_class: NodeClassRef) -> None:
        seconds = self._breaker.pause(node_class, self.chance())
        if seconds is not None:
            self.later(("probe", str(node_class)), Probe(node_class), seconds=seconds)

    # --- what follows from them

    def _written(self, name: str, claim: NodeClaim) -> None:
        self._cluster.tell(ObjectSeen(object=claim))
        relaxed = claim.annotations.get(labels.MIN_VALUES_RELAXED, "false")
        why = {"reason": "provisioned", "nodepool": claim.pool, "min_values_relaxed": relaxed}
        self._telemetry.count(metrics.NODECLAIMS_CREATED.name, **why)
        tell_created(self.log, claim)
        self._go(self._book.written(name, claim))

    def _prepared(self, step: PrepareBatch, buyable: LaunchOptions) -> None:
        names, batch = self._book.about(step), self._book.close(step.batch)
        if batch is None or not names:
            return
        if batch.token:
            self._resume(batch, names, buyable)
            return
        calls, hopeless = launches(
            self._book.claims(names),
            pool=batch.pool,
            node_class=batch.node_class,
            buyable=buyable,
            cluster_name=self._calls.cluster_name,
            tags=self._calls.tags,
        )
        why = "nothing suitable is on offer any more"
        self._happen(hopeless, LaunchEvent.NOTHING_OFFERED, Cause.INSUFFICIENT_CAPACITY, why)
        for launch in calls:
            self._go(self._book.group_up(launch, batch, unmarked=launch.claims))

    def _resume(self, batch: Batch, names: tuple[str, ...], buyable: LaunchOptions) -> None:
        """Go on with a call that may have been made already: by the same call, or by looking."""
        unmarked = self._book.unmarked(names)
        launch = launch_again(
            self._book.marked(batch.token),
            unmarked=unmarked,
            pool=batch.pool,
            node_class=batch.node_class,
            buyable=buyable,
            cluster_name=self._calls.cluster_name,
            tags=self._calls.tags,
        )
        others = {c.name: None for c in unmarked}
        if launch is not None:
            marking = [name for name in others if name in launch.claims]
            self._go(self._book.group_up(launch, batch, unmarked=marking))
            others = {name: None for name in others if name not in launch.claims}
        else:
            self._go(self._book.move((n for n in names if n not in others), LaunchEvent.CALL_UNKNOWN))
        self._go(self._book.again(others, batch, LaunchEvent.LEFT_OUT))

    def _answered(self, step: CallFleet, answer: FleetAnswer) -> None:
        group = self._book.group(step.token)
        if group is None:
            return
        request = group.launch.request
        ran_out = CapacityRanOut(
            offerings=exhausted_offerings(request, answer), full_zones=full_zones(request, answer)
        )
        short = bool(ran_out.offerings or ran_out.full_zones)
        if short:
            self._ran_out.note(ran_out)
            self._selector.tell(ran_out)
        if not answer.instances and not (short or answer.elsewhere):
            self._selector.tell(LaunchFailed(node_class=request.node_class.ref, why=answer.why))
        dealt = deal(self._book.marked(step.token), answer.instances)
        self._deal(step, dealt, answer.why, cause_unmet(answer, ran_out=short))

    def _found(self, step: FindInstances, instances: tuple[Instance, ...], asked_at: datetime) -> None:
        dealt = deal(self._book.marked(step.token), instances)
        then = next_look(step)
        if then is not None and not dealt.keys() >= set(self._book.about(step)):
            look, seconds = then
            self._recorder.hidden(step, asked_at)
            self.later(look, look, seconds=seconds)
            return
        why = "its launch could not be repeated, and nothing was bought by it"
        self._deal(step, dealt, why, Cause.INSUFFICIENT_CAPACITY)

    def _deal(
        self, step: CallFleet | FindInstances, dealt: Mapping[str, Instance], why: str, cause: Cause
    ) -> None:
        for name in self._book.about(step):
            if name in dealt:
                steps = self._book.give(name, dealt[name])
                self._about(name)
                tell_bought(self.log, dealt[name])
                self._go(steps)
            else:
                self._happen((name,), LaunchEvent.UNBOUGHT, cause, why)

    def _launched(self, name: str, claim: NodeClaim) -> None:
        instance = self._book.instance(name)
        self._about(name)
        self._recorder.launch(name, instance)
        self._book.recorded(name, claim)
        if instance is not None:
            tell_launched(self.log, claim, instance)
            self._lifecycle.tell(NodeLaunched(claim=claim, instance=instance))

    def _fail(self, name: str, cause: Cause, why: str, *, written: bool = True) -> None:
        self._about(name)
        self._recorder.launch(name, None, why, cause)
        claim = self._book.claim(name)
        tell_failed(self.log, name, cause, why)
        if written and claim is not None and retried(claim, cause):
            self._postpone(claim, why)
            return
        self._cluster.tell(ClaimFailed(claim=name, cause=cause, why=why))
        if written:
            self._book.give_up(ClaimGivenUp.unbought(name, cause, type(self).__name__, why))
            self._take_back(GiveUp(name))
            return
        if claim is not None:
            self._telemetry.count(metrics.NODECLAIMS_DISRUPTED.name, **disrupted_labels(claim, cause))
        self._book.forget(name)

    def _postpone(self, claim: NodeClaim, why: str) -> None:
        """Write on a claim without a pool why its launch failed, and launch it again after a while."""
        self._book.postpone(claim.name)
        write_beside(self._tasks, *self._calls.say_failed(claim, why))
        publish(self._tasks, self._calls.writer, launch_failed(claim, why))
        seconds = RELAUNCHES.after(failed_attempts(claim) + 1, self.chance())
        self.later(("resume", claim.name), Resume(claim.name), seconds=seconds)

    def _take_back(self, tick: GiveUp) -> None:
        """Send that a claim is given up, again and again until it is gone, but not before it is written."""
        given_up = self._book.given_up(tick.name)
        if given_up is not None and given_up.written:
            self._termination.tell(given_up.says)
            self.later(tick, tick, seconds=_SAY_AGAIN_SECONDS)

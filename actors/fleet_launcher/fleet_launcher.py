"""FleetLauncher: carries out committed plans: writes the claims, buys instances, assigns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from treenail.actors.fleet_launcher.held_calls import HeldCalls
from treenail.actors.fleet_launcher.launch_calls import LaunchCalls
from treenail.actors.fleet_launcher.launch_recorder import LaunchRecorder
from treenail.actors.fleet_launcher.messages import Adopt, Flushed, GiveUp, Probe, StepDone
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.actors.runtime.life_lines import tell_bought, tell_created, tell_failed, tell_launched
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.cluster_facts import ObjectSeen
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import ClaimGivenUp, disrupted_labels
from treenail.domain.launch.launch_book import Batch, Group, LaunchBook
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
from treenail.domain.launch.launching import (
    CapacityRanOut,
    ClaimFailed,
    Launch,
    LaunchFailed,
    NodeLaunched,
    deal,
    exhausted_offerings,
    launch_again,
    launches,
)
from treenail.domain.launch.unavailable_offerings import unavailable_offerings
from treenail.domain.model import labels
from treenail.domain.model.backoff import CALLS
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import ConflictError, InvalidError, NodeClassNotReadyError, NotFoundError
from treenail.domain.model.fleets import FleetAnswer, Instance
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.runtime import Done, Failed, Ref
from treenail.domain.telemetry import metrics

_MOST_ATTEMPTS: Final = 8
_FLUSH_SECONDS: Final = 0.2
_ADOPT_AFTER: Final = 2.0
_SAY_AGAIN_SECONDS: Final = 5.0

Tick: TypeAlias = Flushed | StepDone | Adopt | GiveUp | Probe
LauncherInbox: TypeAlias = PlanCommitted | NodeChanged | CapacityRanOut | Step | Tick


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
        self._held = HeldCalls(
            self._book,
            runtime.dice,
            later=lambda ref, seconds: self.later(("probe", str(ref)), Probe(ref), seconds=seconds),
            go=self._carry_out,
        )
        self._recorder = LaunchRecorder(runtime.telemetry, runtime.timers, self._book)
        self._ran_out = unavailable_offerings(runtime.timers.monotonic)

    def handle(self, message: LauncherInbox) -> None:
        match message:
            case PlanCommitted():
                self._begin(message)
            case NodeChanged():
                self._watch(message)
            case CapacityRanOut():
                self._ran_out.update(dict.fromkeys(message.offerings, True))
            case Flushed():
                for name in message.names:
                    self._try(WriteClaim(name=name))
            case StepDone():
                self._step_done(message)
            case Adopt():
                self._adopt()
            case GiveUp():
                self._take_back(message)
            case Probe():
                self._held.probe(message.node_class)
            case _:
                self._try(message)

    # --- beginnings

    def _begin(self, plan: PlanCommitted) -> None:
        if not plan.claims:
            return
        self.within(plan.decision.context)
        names = tuple(n for b in self._book.open(plan, self._timers.now()) for n in b.names)
        # What was decided must be readable before anything comes of it.
        self._tasks.run(
            ("telemetry", "flush"),
            lambda: self._telemetry.flush(_FLUSH_SECONDS),
            self.carrying(),
            lambda _: Flushed(names),
        )

    def _watch(self, changed: NodeChanged) -> None:
        claim = changed.view.claim if changed.view is not None else None
        if claim is not None and claim.launched and self._book.instance(changed.name) is not None:
            self._launched(changed.name, claim)  # whatever was answered, if anything was
        if self._book.note(changed):
            self.later("adopt", Adopt(), seconds=_ADOPT_AFTER)
        elif self._book.unwanted(changed):
            self._take_back(GiveUp(changed.name))

    def _adopt(self) -> None:
        for batch in self._book.adopt(self._timers.now()):
            self.log("resuming launch", nodeclaims=list(batch.names))
            self._try(PrepareBatch(batch=batch.id))

    # --- steps

    def _try(self, step: Step) -> None:
        if not (isinstance(step, CallFleet) and self._held.keep(step)):
            self._carry_out(step)

    def _carry_out(self, step: Step) -> None:
        call = self._calls.of(step, self._book, self._ran_out)
        if call is None:
            return
        key, function = call
        started_at = self._timers.now()
        self._tasks.run(key, function, self.carrying(), lambda outcome: StepDone(step, started_at, outcome))

    def _step_done(self, done: StepDone) -> None:
        if isinstance(done.step, CallFleet):
            self._recorder.call(done.step, done.started_at, done.outcome)
            self._held.note(done.step, done.outcome)
        match done.outcome:
            case Done(value=value):
                self._succeeded(done.step, value)
            case Failed(error=error):
                self._failed(done.step, error)

    def _succeeded(self, step: Step, value: object) -> None:
        match step:
            case WriteClaim(name=name) if isinstance(value, NodeClaim):
                self._written(name, value)
            case PrepareBatch(batch=batch) if isinstance(value, LaunchOptions):
                self._prepared(batch, value)
            case MarkClaim(name=name, token=token) if isinstance(value, NodeClaim):
                self._marked(name, token, value)
            case CallFleet(token=token) if isinstance(value, FleetAnswer):
                self._answered(token, value)
            case FindInstances() if isinstance(value, tuple):
                self._found(step, value)
            case RecordInstance(name=name) if isinstance(value, NodeClaim):
                self._recorded(name, value)
            case _:
                raise TypeError(f"{step} answered {type(value).__name__}")

    def _failed(self, step: Step, error: Exception) -> None:
        if isinstance(step, CallFleet) and self._book.all_leaving(step.token):
            # What this call bought, if anything, is found by those who see the claims out.
            for name in self._book.waiting_for(step.token):
                self._book.forget(name)
            return
        final = isinstance(error, InvalidError | NotFoundError | NodeClassNotReadyError)
        if isinstance(error, ConflictError):
            final = not isinstance(step, MarkClaim)
        if not final and isinstance(step, CallFleet) and self._held.keep(step):
            self.log("launches of the node class wait", level="warning", error=str(error))
            return
        if not final and step.attempt < _MOST_ATTEMPTS:
            seconds = CALLS.after(step.attempt + 1, self.chance())
            what = type(step).__name__
            self.log(
                "launch step is tried again", level="warning", step=what, seconds=seconds, error=str(error)
            )
            self.later(first(step), again(step), seconds=seconds)
        else:
            self.log("launch step failed", step=type(step).__name__, error=str(error))
            self._give_up(step, error, final=final)

    def _give_up(self, step: Step, error: Exception, *, final: bool) -> None:
        match step:
            case WriteClaim(name=name):
                self._unwritable(name, error, final=final)
            case PrepareBatch(batch=batch):
                self._fail_batch(batch, error)
            case MarkClaim(name=name, token=token):
                self._unmarkable(name, token, error)
            case CallFleet(token=token):
                self._call_failed(token, error, final=final)
            case RecordInstance(name=name) if isinstance(error, NotFoundError):
                self._book.forget(name)
            case RecordInstance(name=name):
                self._hand_back((name,))
            case FindInstances(token=token):
                self._hand_back(self._book.waiting_for(token))

    # --- what follows from them

    def _written(self, name: str, claim: NodeClaim) -> None:
        self._cluster.tell(ObjectSeen(object=claim))
        relaxed = claim.annotations.get(labels.MIN_VALUES_RELAXED, "false")
        why = {"reason": "provisioned", "nodepool": claim.pool, "min_values_relaxed": relaxed}
        self._telemetry.count(metrics.NODECLAIMS_CREATED.name, **why)
        tell_created(self.log, claim)
        self._prepare(self._book.written(name, claim))

    def _unwritable(self, name: str, error: Exception, *, final: bool) -> None:
        batch = self._book.settle(name)
        self._fail(name, Cause.LAUNCH_FAILED, str(error), written=not final)
        self._prepare(batch)

    def _prepare(self, batch: Batch | None) -> None:
        if batch is not None:
            self._try(PrepareBatch(batch=batch.id))

    def _prepared(self, batch_id: str, buyable: LaunchOptions) -> None:
        batch = self._book.close(batch_id)
        if batch is None:
            return
        if batch.token:
            self._resume(batch, buyable)
            return
        calls, hopeless = launches(
            self._book.claims(batch.names),
            pool=batch.pool,
            node_class=batch.node_class,
            buyable=buyable,
            cluster_name=self._calls.cluster_name,
            tags=self._calls.tags,
        )
        for name in hopeless:
            self._fail(name, Cause.INSUFFICIENT_CAPACITY, "nothing suitable is on offer any more")
        for launch in calls:
            self._launch(launch, batch, unmarked=launch.claims)

    def _launch(self, launch: Launch, batch: Batch, *, unmarked: tuple[str, ...]) -> None:
        """Mark what is to be marked, then call."""
        token = launch.request.token
        self._book.group_up(Group(launch=launch, batch=batch, unmarked=dict.fromkeys(unmarked)))
        for name in unmarked:
            self._try(MarkClaim(name=name, token=token))
        if not unmarked:
            self._try(CallFleet(token=token))

    def _resume(self, batch: Batch, buyable: LaunchOptions) -> None:
        """Go on with a call that may have been made already: by the same call, or by looking."""
        unmarked = self._book.unmarked(batch)
        launch = launch_again(
            self._book.marked(batch.token),
            unmarked=unmarked,
            pool=batch.pool,
            node_class=batch.node_class,
            buyable=buyable,
            cluster_name=self._calls.cluster_name,
            tags=self._calls.tags,
        )
        members = launch.claims if launch is not None else ()
        if launch is not None:
            self._launch(launch, batch, unmarked=tuple(c.name for c in unmarked if c.name in members))
        else:
            self._try(FindInstances(token=batch.token))
        self._prepare(self._book.again((c.name for c in unmarked if c.name not in members), batch))

    def _marked(self, name: str, token: str, claim: NodeClaim) -> None:
        group = self._book.marked_now(name, token, claim)
        if group is not None:
            self._try(CallFleet(token=token))

    def _unmarkable(self, name: str, token: str, error: Exception) -> None:
        """A claim of a group cannot be marked: the others are grouped anew, for the call was never made."""
        if isinstance(error, NotFoundError | InvalidError):
            self._book.forget(name)
        else:
            self._hand_back((name,))
        self._prepare(self._book.reopen(token))

    def _answered(self, token: str, answer: FleetAnswer) -> None:
        group = self._book.group(token)
        if group is None:
            return
        request = group.launch.request
        ran_out = exhausted_offerings(request, answer)
        self._ran_out.update(dict.fromkeys(ran_out, True))
        if ran_out:
            self._selector.tell(CapacityRanOut(offerings=ran_out))
        if not answer.instances and not (ran_out or answer.elsewhere):
            self._selector.tell(LaunchFailed(node_class=request.node_class.ref, why=answer.why))
        dealt = deal(self._book.marked(token), answer.instances)
        self._deal(token, dealt, answer.why, cause_unmet(answer, ran_out=bool(ran_out)))

    def _found(self, step: FindInstances, instances: tuple[Instance, ...]) -> None:
        dealt = deal(self._book.marked(step.token), instances)
        then = next_look(step)
        if then is not None and not dealt.keys() >= set(self._book.waiting_for(step.token)):
            look, seconds = then
            self.later(look, look, seconds=seconds)
            return
        why = "its launch could not be repeated, and nothing was bought by it"
        self._deal(step.token, dealt, why, Cause.INSUFFICIENT_CAPACITY)

    def _deal(self, token: str, dealt: Mapping[str, Instance], why: str, cause: Cause) -> None:
        for name in self._book.waiting_for(token):
            if name in dealt:
                self._book.give(name, dealt[name])
                tell_bought(self.log, dealt[name])
                self._try(RecordInstance(name=name))
            else:
                self._fail(name, cause, why)

    def _call_failed(self, token: str, error: Exception, *, final: bool) -> None:
        group = self._book.group(token)
        if group is None:
            return
        names = self._book.waiting_for(token)
        if not final:
            self._hand_back(names)
            return
        self._selector.tell(LaunchFailed(node_class=group.launch.request.node_class.ref, why=str(error)))
        for name in names:
            self._fail(name, cause_of(error), str(error))

    def _fail_batch(self, batch_id: str, error: Exception) -> None:
        batch = self._book.close(batch_id)
        if batch is None:
            return
        if not isinstance(error, NodeClassNotReadyError | InvalidError):
            self._hand_back(batch.names)
            return
        self._selector.tell(LaunchFailed(node_class=batch.node_class.ref, why=str(error)))
        for name in batch.names:
            self._fail(name, cause_of(error), str(error))

    def _recorded(self, name: str, claim: NodeClaim) -> None:
        self._cluster.tell(ObjectSeen(object=claim))
        self._launched(name, claim)

    def _launched(self, name: str, claim: NodeClaim) -> None:
        instance = self._book.instance(name)
        self._recorder.launch(name, instance)
        self._book.recorded(name, claim)
        if instance is not None:
            tell_launched(self.log, claim, instance)
            self._lifecycle.tell(NodeLaunched(claim=claim, instance=instance))

    def _fail(self, name: str, cause: Cause, why: str, *, written: bool = True) -> None:
        self._recorder.launch(name, None, why)
        claim = self._book.claim(name)
        self._cluster.tell(ClaimFailed(claim=name, cause=cause, why=why))
        tell_failed(self.log, name, cause, why)
        if written:
            self._book.give_up(ClaimGivenUp.unbought(name, cause, type(self).__name__, why))
            self._take_back(GiveUp(name))
            return
        if claim is not None:
            self._telemetry.count(metrics.NODECLAIMS_DISRUPTED.name, **disrupted_labels(claim, cause))
        self._book.forget(name)

    def _take_back(self, tick: GiveUp) -> None:
        """Say that a claim is to go, now and then until it does; of one that is not written, when it is."""
        given_up = self._book.given_up(tick.name)
        if given_up is not None and given_up.written:
            self._termination.tell(given_up.says)
            self.later(tick, tick, seconds=_SAY_AGAIN_SECONDS)

    def _hand_back(self, names: tuple[str, ...]) -> None:
        """Give these up for now; they are taken on again like those of a process that died."""
        self._book.hand_back(names)
        self.later("adopt", Adopt(), seconds=CALLS.after(_MOST_ATTEMPTS))

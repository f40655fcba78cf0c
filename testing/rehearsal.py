"""A rehearsal with what tests need besides: expectations, crashes and faults at a point, forks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from treenail.adapters.api.manifests import Decoded
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.embed import Conditions
from treenail.adapters.embed.arguments import one_of, seconds_of
from treenail.adapters.embed.port_calls import CallFault
from treenail.adapters.embed.rehearsal import Rehearsal as EmbeddedRehearsal
from treenail.adapters.embed.waiting import WaitingPod, waiting_pods
from treenail.adapters.fake.cluster import ClusterFaults
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.adapters.settings.global_settings import NAME
from treenail.domain.model.errors import PortError
from treenail.domain.model.not_acted_on import less_gated
from treenail.testing.brief import brief
from treenail.testing.crash_plans import CrashPlan
from treenail.testing.expectations import Expectation, check_message
from treenail.testing.golden import difference, timeline_text
from treenail.testing.inputs import Input, recorded
from treenail.testing.manifest_warnings import ManifestWarning, warn_of
from treenail.testing.refusal_log import RefusalLog

M = TypeVar("M")
# Of what happened, so many lines of so many characters are told with a failure.
_LAST: Final = 15
_WIDEST: Final = 200
# What ends a test without failing it, by name: pytest, whose skips are no Exception, may not be there.
_NO_FAILURES: Final = frozenset(
    {"KeyboardInterrupt", "SystemExit", "GeneratorExit", "SkipTest", "Skipped", "XFailed", "Exit"}
)
_TOO_LATE: Final = "changes nothing here: settings count from the start, as Conditions(settings=...)"


@recorded
class Rehearsal(EmbeddedRehearsal):
    """A cluster, EC2 and the controller, all in this process. Equal seeds give equal histories.

    Times are virtual: seconds since the start, or durations such as "5m". Nothing happens until time
    passes (`run`, `run_until`, `expect`). What was done to it stands in `inputs`.
    """

    def __init__(self, *, seed: int = 0, conditions: Conditions | None = None) -> None:
        if conditions is not None and not isinstance(conditions, Conditions):
            raise TypeError(f"Rehearsal: conditions: {conditions!r} is no Conditions")
        if conditions is not None and isinstance(conditions.snapshot, Decoded):
            # `resolved` would take it for one whose time, account and settings were read already.
            raise TypeError("Rehearsal: conditions: snapshot: it is decoded: give its path or its text")
        super().__init__(seed=seed, conditions=conditions)
        self.seed = seed
        self.given = conditions or Conditions()
        self.inputs: list[Input] = []
        self.stepped = 0
        self.within_input = False
        self._plans: list[CrashPlan | CallFault] = []
        self._refusals = RefusalLog()
        self.messages.listen(self._refusals.note)
        self._over = False
        self.world.after_step.append(self._count)
        begun = self.conditions.snapshot
        if isinstance(begun, Decoded):
            warn_of(begun.warnings)

    def _count(self) -> None:
        self.stepped += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._over = True
        if error is not None and _NO_FAILURES.isdisjoint(one.__name__ for one in type(error).__mro__):
            error.add_note(self._told_story())
        missing = [plan.missing for plan in self._plans if plan.missing]
        if kind is None and missing:
            raise AssertionError("; ".join(missing))

    def _told_story(self) -> str:
        """Return the story, or why it cannot be told: that is not to hide what failed."""
        try:
            return self._story()
        except Exception as error:  # noqa: BLE001 (whatever it is, the test's own error counts)
            return f"rehearsal with seed {self.seed}: its story cannot be told: {error!r}"

    def _story(self) -> str:
        """Return what one needs to repeat a failure and to see what came before it."""
        lines = timeline_text(self).splitlines()
        last = (f"  {line[:_WIDEST]}" for line in lines[-_LAST:])
        more = [f"  ... {len(lines) - _LAST} earlier"] if len(lines) > _LAST else []
        return "\n".join((f"rehearsal with seed {self.seed}:", *more, *last, f"  {self.summary()}"))

    def _check_open(self) -> None:
        if self._over:
            raise RuntimeError("the rehearsal ended with its `with` block: no time passes any more")

    def apply(self, *what: str | Path | ApiObject) -> Decoded:
        """Apply manifests (a path, or YAML text) and objects.

        The node classes of pools may be among them, or there already. What nothing follows from, such as a
        kind that is not known here, is a ManifestWarning.

        Raises:
            ManifestError: a manifest cannot be read or says something wrong, or it is of a cluster that was
                there before (`Conditions(snapshot=)`). Nothing is applied then.
        """
        __tracebackhide__ = True
        decoded = super().apply(*what)
        return self._warned(decoded)

    def _warned(self, decoded: Decoded) -> Decoded:
        static = self.conditions.system.static_capacity
        told = (f"ConfigMap {NAME}: {_TOO_LATE}" for one in decoded.config_maps if one.name == NAME)
        warn_of((*less_gated(decoded.warnings, static_capacity=static), *told))
        return decoded

    def apply_file(self, path: str | Path) -> Decoded:
        """Apply a file as a cluster without our validation would: what is wrong is set aside.

        What the controller watches is there, for it to find; the rest is only named in the timeline.

        Raises:
            ManifestError: the file cannot be read at all.
        """
        __tracebackhide__ = True
        decoded = super().apply_file(path)
        return self._warned(decoded)

    def run(self, duration: float | str) -> None:
        """Let `duration` pass ("5m", or seconds).

        Raises:
            RuntimeError: the rehearsal is over.
        """
        __tracebackhide__ = True
        self._check_open()
        super().run(duration)

    def run_until(self, condition: Callable[[], bool], *, within: float | str = "15m") -> None:
        """Let time pass until `condition` holds; it is looked at four times a virtual second.

        Raises:
            AssertionError: it does not hold `within` that time; the message has a summary, which says why
                pods wait and drains are blocked.
            RuntimeError: the rehearsal is over.
        """
        __tracebackhide__ = True
        self._check_open()
        super().run_until(condition, within=within)

    def settle(self, quiet: float | str = "1m", *, within: float | str = "1h") -> None:
        """Let time pass until nothing was added to the timeline, and no span was written, for so long.

        A minute is longer than machines take to boot; traces of what has happened are complete then.

        Raises:
            AssertionError: it does not come to rest `within` that time.
        """
        __tracebackhide__ = True
        pause = seconds_of("settle: quiet", quiet)
        end = self.seconds + seconds_of("settle: within", within)
        if not pause:
            raise ValueError("settle: quiet: say for how long nothing is to happen")
        seen, since = self._happened(), self.seconds
        while self.seconds - since < pause:
            if self.seconds >= end:
                raise AssertionError(f"not quiet for {quiet} within {within}: {self.summary()}")
            self.run(min(1.0, pause, end - self.seconds))
            if self._happened() != seen:
                seen, since = self._happened(), self.seconds

    def _happened(self) -> tuple[int, int]:
        return len(self.timeline.entries), self.telemetry.written

    def untaint(self, key: str, node: str | None = None) -> tuple[str, ...]:
        """Remove the taints with this key from a node, or from all that have it; return the nodes' names.

        That is what an agent does that a startup taint waits for. Nobody else does it, unless
        `Conditions(untainted_after=)` says so.

        Raises:
            ValueError: there is no such node, or it has no such taint; the nearest is named.
        """
        nodes = {one.name: one for one in self.nodes()}
        if node is not None:
            nodes = {node: nodes[one_of("untaint: node", node, nodes)]}
        one_of("untaint: taint", key, {taint.key for one in nodes.values() for taint in one.taints})
        tainted = tuple(name for name, one in nodes.items() if any(t.key == key for t in one.taints))
        for name in tainted:
            self._untainted(name, key)
            self.cluster.take_taint(name, key)
        return tainted

    def restock(self, instance_type: str = "*", zone: str = "*", capacity_type: str | None = None) -> None:
        """Let EC2 have capacity again that `run_out` or `lose_zone` took away, all of it unless said.

        Raises:
            ValueError: there is no such type, family, zone or capacity type; the nearest is named.
        """
        self.ec2.outside.check_pools(instance_type, zone, capacity_type)
        of = {} if capacity_type is None else {"capacityType": capacity_type}
        self.timeline.add("CapacityReturns", {"instanceType": instance_type, "zone": zone, **of})
        self.ec2.outside.restock(instance_type, zone, capacity_type)

    def set_faults(self, *, cluster: ClusterFaults | None = None, ec2: EC2Faults | None = None) -> None:
        """Have other random faults from now on, of what is given."""
        self.cluster.faults = self.cluster.faults if cluster is None else cluster
        self.ec2.faults = self.ec2.faults if ec2 is None else ec2

    def fork(self) -> Self:
        """Return another rehearsal that has come to the same point, and goes its own way from here.

        Actors cannot be copied: what was done to this one is done again, with the same seed and conditions,
        which takes as long as it took here. Invariants (`always`) are not taken along, and what was done to
        the parts directly (`cluster.ec2.outside`, say) was not noted.

        Raises:
            AssertionError: the other one did not come to the same point.
        """
        with warnings.catch_warnings():
            # Of its snapshot this one has warned.
            warnings.simplefilter("ignore", ManifestWarning)
            other = type(self)(seed=self.seed, conditions=self.given)
        other.repeat(self.inputs, until=self.seconds, steps=self.stepped)
        if other.timeline.entries != self.timeline.entries:
            other.__exit__(AssertionError, None, None)
            differs = difference(timeline_text(self), timeline_text(other), before="this one", after="fork")
            raise AssertionError(
                "fork: the calls that were noted do not lead to this point again. What is done to its parts, "
                f"such as cluster.ec2, and outside of the rehearsal is not noted.\n{differs}"
            )
        return other

    def repeat(self, inputs: list[Input], *, until: float, steps: int) -> None:
        """Do what was done to another rehearsal, at the same times; then let time pass up to `until`."""
        for one in tuple(inputs):
            self._pass(one.at, one.step)
            with warnings.catch_warnings():
                # They were told when it was done first.
                warnings.simplefilter("ignore", ManifestWarning)
                one.do(self)
        self._pass(until, steps)

    def _pass(self, at: float, step: int) -> None:
        """Let time pass to second `at`; where others were stopped amid an instant, to the same step."""
        self.world.run_until(lambda: self.stepped >= step, at_most=at)
        if self.seconds < at:
            self.world.run(until=at)

    def crash_at(
        self,
        message: type | None = None,
        *,
        nth: int = 1,
        step: int | None = None,
        restart_after: float | str | None = None,
    ) -> None:
        """Kill the controller when the `nth` message of a kind from now on is sent, before it is handled.

        With `step` in place of a message, when the world has made so many steps (`world.steps`). With
        `restart_after` another controller is started so long after. If it never happens, the end of the
        rehearsal's `with` block raises AssertionError.
        """
        if (message is None) == (step is None) or nth < 1 or (step is not None and step <= self.world.steps):
            raise ValueError("crash_at: give a class of messages, and nth from 1 on, or a step yet to come")
        if message is not None:
            check_message("crash_at", message)
        later = None if restart_after is None else seconds_of("crash_at: restart_after", restart_after)

        def crash() -> None:
            self.within_input = True
            self.crash()
            if later is not None:
                self.restart(after=later)
            self.within_input = False

        plan = CrashPlan(message=message, nth=nth, step=step, crash=crash)
        self._plans.append(plan)
        self.messages.listen(plan.note)
        self.world.after_step.append(lambda: plan.look(self.world))

    def fail(
        self,
        call: str,
        *,
        nth: int = 1,
        times: int = 1,
        error: PortError | None = None,
        done: bool = False,
        where: Callable[..., bool] = lambda *_args, **_more: True,
    ) -> None:
        """Let calls of a port ("patch_claim", "launch") fail: `times` of them, from the `nth` from now on.

        With `done` the call is carried out, and its answer lost. `where` gets the call's arguments and says
        whether it counts. If not all of them come, the end of the rehearsal's `with` block raises
        AssertionError.

        Raises:
            ValueError: there is no such call; the nearest is named.
        """
        self._plans.append(self.calls.fail(call, nth, times, error, done=done, where=where))

    def waiting(self) -> tuple[WaitingPod, ...]:
        """Return the pods, less those of DaemonSets, that have no running container, each with why."""
        # A pod that the scheduler bound needs no decision, whatever the last one said.
        codes = {pod.key: "" if pod.node_name else self._refusals.code(pod.uid) for pod in self.pods()}
        waiting = waiting_pods(self.cluster, self.pod_history, self.timeline)
        return tuple(replace(one, code=codes[one.key]) for one in waiting)

    def cost_per_hour(self) -> float:
        """Return what the nodes there are now cost, in $/h, at the prices they were bought at."""
        return sum((one.price for one in self.history() if one.terminated_at is None), 0.0)

    def always(self, holds: Callable[[], bool], called: str = "") -> None:
        """Check now, and after every step from now on, that something holds.

        Raises:
            AssertionError: it does not hold now; or later, from `run` and all else that lets time pass, at
                the first step after which it does not. The message has a summary.
        """
        if not callable(holds):
            raise TypeError(f"always: {holds!r} is no function: it is asked after every step")
        __tracebackhide__ = True
        name = called or getattr(holds, "__name__", repr(holds))

        def check() -> None:
            __tracebackhide__ = True
            if not holds():
                raise AssertionError(f"{name} does not always hold: {self.summary()}")

        check()
        self.world.after_step.append(check)

    def expect(
        self,
        kind: type[M],
        *,
        within: float | str = "15m",
        where: Callable[[M], bool] = lambda _: True,
        to: str = "",
    ) -> M:
        """Let time pass until an actor (one of class `to`, if said) is told a message of a kind; return it.

        It returns when the handler that sent the message is through. Messages sent before do not count.

        Raises:
            AssertionError: none comes `within` that time.
        """
        __tracebackhide__ = True
        self._check_open()
        end = self.seconds + seconds_of("expect: within", within)
        wanted = Expectation("expect", kind, where, to)
        self.messages.listen(wanted)
        try:
            if not self.world.run_until(lambda: bool(wanted.found), at_most=end):
                came = wanted.instead
                raise AssertionError(f"no {kind.__name__} within {within}: {came}; {self.summary()}")
        finally:
            self.messages.ignore(wanted)
        return wanted.found[0]

    def expect_none(
        self,
        kind: type[M],
        *,
        during: float | str,
        where: Callable[[M], bool] = lambda _: True,
        to: str = "",
    ) -> None:
        """Let so much time pass, in which no actor is told such a message; see `expect`.

        Raises:
            AssertionError: one is; at the time it is sent.
        """
        __tracebackhide__ = True
        self._check_open()
        end = self.seconds + seconds_of("expect_none: during", during)
        unwanted = Expectation("expect_none", kind, where, to)
        self.messages.listen(unwanted)
        try:
            if self.world.run_until(lambda: bool(unwanted.found), at_most=end):
                raise AssertionError(f"at {self.seconds:.3f} s came {brief(unwanted.found[0])}")
        finally:
            self.messages.ignore(unwanted)

"""The controller: opens the ports, runs the actors on threads, and ends the process in order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, Timer
from typing import TYPE_CHECKING, Final, TextIO

from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.threads import Threads
from treenail.adapters.controller.candidacy import UNKNOWN, Candidacy
from treenail.adapters.controller.failures import SPREAD, Failures
from treenail.adapters.controller.ground import Ground, OpenOutside, Outside
from treenail.adapters.controller.liveness import Liveness
from treenail.adapters.controller.metrics_and_probes import Page, Pages, serve_pages
from treenail.adapters.controller.profiling import LOOPBACK, profiling_pages
from treenail.adapters.controller.serving.losses import told_to
from treenail.adapters.controller.serving.served_port import ServedPort, cannot_listen
from treenail.adapters.controller.telemetry import open_telemetry
from treenail.adapters.runtime.clock import SteadyClock, SystemClock, seconds_awake_or_not
from treenail.adapters.runtime.dice import SystemDice
from treenail.adapters.runtime.tasks import ThreadTasks
from treenail.adapters.runtime.timers import ThreadTimers
from treenail.adapters.settings.settings import Settings
from treenail.adapters.telemetry.metric_registry import CONTENT_TYPE
from treenail.domain.leadership.news import LeaseLostError
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.telemetry import metrics

if TYPE_CHECKING:  # it is imported when it is made: a replica that waits does without
    from treenail.actors.system import System

# Pumps wait while so many messages are in the inboxes.
_CONGESTED: Final = 10_000
_INTERRUPTIONS_CONGESTED: Final = 1_000
_DRAIN_SECONDS: Final = 5.0
_FLUSH_SECONDS: Final = 5.0
_END_SECONDS: Final = 2.0
_LAST_RESORT_SECONDS: Final = 15.0
# From SIGTERM on: a second less than what is promised.
_LAST_RESORT_WHEN_ASKED_SECONDS: Final = 19.0
_LOGGER: Final = "controller"
# After SIGTERM, when the lease is to be given up, if nothing is under way then.
_RELEASED_SECONDS: Final = 8.0
_NO_ELECTION: Final = "no leader is elected: run one replica, for two buy nodes twice"


class _Leads:
    """Said to the main thread: the lease is held, or none is wanted."""


class _LogLevelTurned:
    """Said to the main thread: debug lines are wanted from now on, or no longer."""


class Controller:
    """One life of the controller's process.

    `open_outside` opens the ports; log lines go to `log`. `last_resort` is called where the process
    should have ended by itself, and did not.
    """

    def __init__(
        self,
        settings: Settings,
        open_outside: OpenOutside,
        *,
        log: TextIO,
        last_resort: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._open_outside = open_outside
        self._last_resort = last_resort
        # What the main thread waits for: the lease, a signal, an error that ends the process, None to end it.
        self._ends: SimpleQueue[BaseException | _Leads | _LogLevelTurned | None] = SimpleQueue()
        self._debugging = False
        self._tenure = Tenure(seconds_awake_or_not)
        machine = SystemClock()
        self._failures = Failures(Path(settings.state_directory), machine)
        self._dice = SystemDice()
        self._pause: float | None = None
        self.telemetry = open_telemetry(settings, machine, log)
        self._clock = SteadyClock(machine, self.telemetry)
        self.threads = Threads(self._clock)
        self._closing = ExitStack()
        self._watchdogs: SimpleQueue[Timer] = SimpleQueue()
        self._timers = ThreadTimers(self._clock, failed=self.failed, late=self._late)
        self._tasks = ThreadTasks(failed=self.failed, dropped=self._event_dropped)
        self._liveness = Liveness(
            self._timers, self.threads, self._tasks, self.telemetry, look=self._clock.look
        )
        self._system: System | None = None
        self._outside: Outside | None = None
        self._candidacy: Candidacy | None = None
        self._probes: ServedPort | None = None
        self._metrics: ServedPort | None = None

    # --- from outside

    def run(self) -> int:
        """Live until `stop` or until something fails; return the exit code.

        Raises:
            SettingError: a port cannot be listened on; nothing was begun.
            Exception: the ports could not be opened; nothing was begun.
        """
        try:
            self._begin()
        except Exception:
            self._close()
            raise
        try:
            error = self._await_end()
        except Exception as defect:  # noqa: BLE001 (nobody expected it: it ends the process as any other does)
            error = defect
        return self._end_well() if error is None else self._end_badly(error)

    def stop(self) -> None:
        """Ask for the end. A handler of a signal may call this."""
        self._ends.put(None)

    def turn_log_level(self) -> None:
        """Have debug lines written too, or LOG_LEVEL followed again. A handler of a signal may call this."""
        self._ends.put(_LogLevelTurned())

    def failed(self, error: BaseException) -> None:
        """Take in an unexpected exception: the process ends."""
        self._ends.put(error)
        self._arm(_LAST_RESORT_SECONDS)

    @property
    def probe_port(self) -> int:
        """The port of the probes, 0 before the start."""
        return self._probes.port if self._probes is not None else 0

    @property
    def metrics_port(self) -> int:
        """The port of the metrics, 0 before the start."""
        return self._metrics.port if self._metrics is not None else 0

    def _await_end(self) -> BaseException | None:
        """Handle requests until the process is to end; return the error that ends it, if any."""
        while True:
            match self._ends.get():
                case _Leads():
                    self._lead()
                case _LogLevelTurned():
                    self._turn_log_level()
                case end:
                    return end

    def _turn_log_level(self) -> None:
        self._debugging = not self._debugging
        level = "debug" if self._debugging else self._settings.log_level.value
        self.telemetry.set_log_level("debug")
        self.telemetry.log("log level turned", logger=_LOGGER, log_level=level)
        self.telemetry.set_log_level(level)

    # --- beginning

    def _begin(self) -> None:
        self._announce()
        settings, telemetry = self._settings, self.telemetry
        self._metrics = self._serve("METRICS_PORT", settings.metrics_port, {"/metrics": self._exposition})
        self._closing.callback(self._metrics.stop)
        pages = {"/healthz": self._health, "/readyz": self._readiness}
        self._probes = self._serve("HEALTH_PROBE_PORT", settings.health_probe_port, pages)
        self._closing.callback(self._probes.stop)
        if settings.enable_ui:
            self._show_page()
        if settings.enable_profiling:
            profiles = self._serve(
                "PROFILING_PORT", settings.profiling_port, profiling_pages(), host=LOOPBACK
            )
            self._closing.callback(profiles.stop)
            telemetry.log("serving profiles", logger=_LOGGER, host=LOOPBACK, port=profiles.port)
        telemetry.log(
            "serving", logger=_LOGGER, metrics_port=self.metrics_port, health_probe_port=self.probe_port
        )
        ground = Ground(
            settings=settings,
            clock=self._clock,
            dated=self._clock.hear,
            dice=self._dice,
            telemetry=telemetry,
            congested=lambda: self.threads.depth() > _CONGESTED,
            interruptions_congested=self._interruptions_congested,
            failed=self.failed,
            tenure=self._tenure,
        )
        self._outside = self._open_outside(ground)
        self._closing.callback(self._outside.close)
        self._liveness.start()
        self._stand(self._outside)

    def _stand(self, outside: Outside) -> None:
        """Lead, or be a candidate until this one does."""
        if not self._settings.election_wanted:
            self._tenure.extend(math.inf)
            self._ends.put(_Leads())
            return
        outside.follow()
        self._candidacy = Candidacy(
            self._settings,
            outside.lease,
            self._tenure,
            telemetry=self.telemetry,
            leads=lambda: self._ends.put(_Leads()),
        )
        self._candidacy.stand(self.threads, self._runtime())

    def _lead(self) -> None:
        """Start the actors, as after a restart: they need only what the API server says."""
        outside = self._outside
        if self._system is not None or outside is None:
            return
        # A third of what it would hold else: whoever waits needs none of the actors' code.
        from treenail.adapters.controller.leading import start_system  # noqa: PLC0415

        outside.lead()
        # Whoever waited for long begins now.
        self._pause = self._pause_drawn()
        self.telemetry.gauge(metrics.PROVISIONING_ENABLED.name, float(self._pause is None))
        self.telemetry.gauge(metrics.PROVISIONING_RESUMES.name, 0.0)
        self._system = start_system(
            self._runtime(), self.threads, outside.ports, self._settings, pause=self._pause
        )

    def _runtime(self) -> Runtime:
        return Runtime(
            timers=self._timers,
            tasks=self._tasks,
            dice=self._dice,
            telemetry=self.telemetry,
            failed=self.failed,
        )

    def _show_page(self) -> None:
        from treenail.adapters.controller.live_page import LivePage  # noqa: PLC0415 (few ask for it)

        settings, telemetry = self._settings, self.telemetry
        page = LivePage(
            name=settings.cluster_name,
            cluster=lambda: self._system.cluster if self._system is not None else None,
            monotonic=time.monotonic,
        )
        served = self._serve("UI_PORT", settings.ui_port, page.pages(), host=settings.ui_address)
        self._closing.callback(served.stop)
        self._closing.callback(page.stop)
        telemetry.on_span = page.note
        page.start()
        telemetry.log("serving the live page", logger=_LOGGER, host=settings.ui_address, port=served.port)

    def _serve(self, variable: str, port: int, pages: Pages, host: str = "") -> ServedPort:
        lost = told_to(self.telemetry, variable)
        try:
            return serve_pages(port, pages, failed=self.failed, lost=lost, host=host)
        except OSError as error:
            raise cannot_listen(variable, port, error) from None

    def _announce(self) -> None:
        for warning in self._settings.warnings:
            self.telemetry.log(warning, logger=_LOGGER, level="warning")
        if not self._settings.election_wanted:
            self.telemetry.log(_NO_ELECTION, logger=_LOGGER, level="warning")
        try:
            self._failures.prepare()
        except OSError as error:
            self.telemetry.log(
                "STATE_DIRECTORY cannot be written to: failures will not be counted",
                logger=_LOGGER,
                level="warning",
                error=str(error),
            )
        self.telemetry.log(
            "starting", logger=_LOGGER, cluster=self._settings.cluster_name, cloud=self._settings.cloud.value
        )

    def _pause_drawn(self) -> float | None:
        """Return how long provisioning is to be off (s), None where it may be on."""
        pause = self._failures.pause()
        return None if pause is None else pause * self._dice.uniform(1, 1 + SPREAD)

    def _interruptions_congested(self) -> bool:
        from treenail.adapters.controller.leading import interruptions_waiting  # noqa: PLC0415

        return interruptions_waiting(self.threads) > _INTERRUPTIONS_CONGESTED

    # --- what others look at

    def _health(self) -> Page:
        return Page.check(self._liveness.troubles())

    def _readiness(self) -> Page:
        if self._system is None and self._candidacy is not None and self._outside is not None:
            return self._candidacy.page(known=self._outside.known())
        synced = self.telemetry.metrics.value(metrics.CLUSTER_STATE_SYNCED.name, {}) == 1
        if not synced:
            return Page.check([UNKNOWN])
        if self.telemetry.metrics.value(metrics.PROVISIONING_ENABLED.name, {}) == 0:
            # Still ready: a pod that is not is no endpoint of the Service of the conversion webhook.
            return Page(b"ok: provisioning is off after failures, and comes back by itself\n")
        return Page.check([])

    def _exposition(self) -> Page:
        return Page(self.telemetry.metrics.exposition(), content_type=CONTENT_TYPE)

    def _late(self, seconds: float) -> None:
        self.telemetry.observe(metrics.TIMER_DELAY.name, max(0.0, seconds))

    def _event_dropped(self) -> None:
        self.telemetry.count(metrics.EVENTS_DROPPED.name)

    # --- ending

    def _end_well(self) -> int:
        """Take nothing more in, finish what was begun within five seconds, give up the lease, and end."""
        release_by = time.monotonic() + _RELEASED_SECONDS
        self._arm(_LAST_RESORT_WHEN_ASKED_SECONDS)
        self.telemetry.log("stopping", logger=_LOGGER)
        self._stop_pumps()
        self._timers.stop(_END_SECONDS)
        quiet = self._drain(release_by)
        self._tasks.stop(0)
        self._tenure.end()
        if self._candidacy is not None:
            self._candidacy.give_up(quiet=quiet)
        self._close()
        return 0

    def _end_badly(self, error: BaseException) -> int:
        self.telemetry.log("the process fails", logger=_LOGGER, level="error", error=error)
        self._tenure.end()
        if not isinstance(error, LeaseLostError):
            self._note_failure()
        self._stop_pumps()
        self._close()
        return 1

    def _note_failure(self) -> None:
        try:
            self._failures.note()
        except OSError as unwritten:
            self.telemetry.log("cannot note the failure", logger=_LOGGER, level="warning", error=unwritten)

    def _stop_pumps(self) -> None:
        if self._outside is None:
            return
        stop = self._system.stop if self._system is not None else self._outside.ports.reader.stop
        # A pump may be what fails: it is not waited for longer than it should take.
        stopping = Thread(target=stop, name="stop-pumps", daemon=True)
        stopping.start()
        stopping.join(2 * _END_SECONDS)

    def _drain(self, until: float) -> bool:
        """Wait until nothing is under way, but not beyond `until`; return whether that came."""
        deadline = min(until, time.monotonic() + _DRAIN_SECONDS)
        quiet = 0
        while quiet < 2 and time.monotonic() < deadline:  # noqa: PLR2004 (a message may just be in a handler)
            time.sleep(0.02)
            busy = self.threads.depth() or any(self._tasks.depths().values())
            quiet = 0 if busy else quiet + 1
        return quiet > 1

    def _close(self) -> None:
        self._timers.stop(_END_SECONDS)
        self._tasks.stop(0)
        self.threads.stop(_END_SECONDS)
        self.telemetry.close(_FLUSH_SECONDS)
        self._closing.close()
        # Last of all: closing may hang too.
        while not self._watchdogs.empty():
            self._watchdogs.get().cancel()

    def _arm(self, seconds: float) -> None:
        """Have the process ended after so long, unless it was closed by then."""
        watchdog = Timer(seconds, self._last_resort)
        watchdog.daemon = True
        watchdog.start()
        self._watchdogs.put(watchdog)

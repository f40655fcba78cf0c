"""LeaderElector: wins the lease and keeps it, so that of several replicas one decides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.leadership.election import Election
from treenail.domain.leadership.lease import Lease, LeaseTiming
from treenail.domain.leadership.news import LeaseElsewhere, LeaseHeld, LeaseLostError, LeaseNews, LeaseUnread
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, NotFoundError
from treenail.domain.model.runtime import Done, Failed, Outcome, Ref
from treenail.domain.ports import LeaseStore
from treenail.domain.telemetry import metrics

LOGGER: Final = "controller.leaderelection"
# A port of its own: no other call delays a renewal.
_KEY: Final = ("lease", "lease")
# Another was faster: the lease is read again soon, by a candidate and by its holder.
_OVERTAKEN: Final = (AlreadyExistsError, ConflictError)
_SOON_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class _Turn:
    """Private timer tick: renew the lease, or look at it."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The lease as it was read, and whether nobody can have led before: it is asked at the first look."""

    lease: Lease | None
    unused: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """The lease as it stands."""

    outcome: Outcome[_Look]


@dataclass(frozen=True, slots=True)
class _Written:
    """The outcome of a lease that was written, no earlier than `sent_at`."""

    sent_at: float
    outcome: Outcome[Lease]


@dataclass(frozen=True, slots=True)
class _Deadline:
    """Private timer tick: the lease may be over."""


ElectorInbox: TypeAlias = _Turn | _Read | _Written | _Deadline


class LeaderElector(DomainActor[ElectorInbox]):
    """Look at the lease until it can be had, then renew it, and set by `tenure` until when calls may begin.

    A renewal counts from before it was sent. Owns what was seen of the lease. Tells the observer when it is
    held, and whose it is otherwise. One that was held and is lost ends the process: whoever comes next goes
    by what stands in the API server. `name` is the lease's, for people.
    """

    def __init__(
        self,
        runtime: Runtime,
        *,
        store: LeaseStore,
        identity: str,
        name: str,
        tenure: Tenure,
        observer: Ref[LeaseNews],
        timing: LeaseTiming | None = None,
    ) -> None:
        super().__init__(runtime)
        self._store = store
        self._identity = identity
        self._name = name
        self._tenure = tenure
        self._observer = observer
        self._timing = timing or LeaseTiming()
        self._election = Election(identity, self._timing)
        self._until = 0.0
        self._leads = False
        # Whether what is known of the lease may be out of date: a write that failed may have been done.
        self._stale = True
        self._news: LeaseNews | None = None

    def begin(self) -> None:
        self._show(leads=False)
        self._read()

    def handle(self, message: ElectorInbox) -> None:
        if self._tenure.ended:
            return
        if self._leads and not self._tenure.held:
            self._lose("it could not be renewed in time")
            return
        match message:
            case _Turn():
                self._write_or_read()
            case _Read():
                self._take_in(message.outcome)
            case _Written():
                self._settle(message)
            case _Deadline():
                self._set_deadline(self._until)
            case _:
                assert_never(message)

    # --- looking

    def _read(self) -> None:
        look = partial(_look_at, self._store, first=not self._election.looked)
        self._tasks.run(_KEY, look, self.me, _Read)

    def _take_in(self, outcome: Outcome[_Look]) -> None:
        if isinstance(outcome, Failed):
            self._trouble(outcome.error)
            return
        self._stale = False
        lease = outcome.value.lease
        self._election.see(lease, self._tenure.now(), unused=outcome.value.unused)
        if self._leads and lease is not None and not self._election.mine:
            self._lose(f"it is {lease.holder or 'nobody'}'s now")
            return
        self._write_or_wait()

    def _write_or_wait(self) -> None:
        at = self._tenure.now()
        wanted = self._election.claim(at, self._timers.now())
        if wanted is not None:
            self._write(wanted, at)
            return
        self._tell(LeaseElsewhere(self._election.known.holder if self._election.known is not None else ""))
        until_free = self._election.free_at - at
        self._turn_in(min(self._timing.look_every, until_free))

    # --- writing

    def _write_or_read(self) -> None:
        """Renew what is held at once; a candidate looks first, and whoever may have been overtaken."""
        if self._leads and not self._stale:
            self._write_or_wait()
        else:
            self._read()

    def _write(self, wanted: Lease, sent_at: float) -> None:
        call = partial(self._store.write, wanted, over=self._election.known)
        self._tasks.run(_KEY, call, self.me, partial(_Written, sent_at))

    def _settle(self, written: _Written) -> None:
        match written.outcome:
            case Failed(error=error) if isinstance(error, _OVERTAKEN) or self._is_deleted(error):
                self._stale = True
                self._turn_in(_SOON_SECONDS)
            case Failed(error=error):
                self._trouble(error)
            case Done(value=lease):
                self._election.see(lease, self._tenure.now())
                self._hold(written.sent_at + self._timing.renew_within)

    def _is_deleted(self, error: Exception) -> bool:
        """Return whether the lease that was to be renewed is gone: its holder makes it again soon."""
        return isinstance(error, NotFoundError) and self._election.known is not None

    def _hold(self, until: float) -> None:
        if self._tenure.now() >= until:
            # The answer took too long: it is renewed before anything is begun.
            self._turn_in(0.0)
            return
        self._tenure.extend(until)
        self._set_deadline(until)
        self._turn_in(self._timing.renew_every)
        if not self._leads:
            self._leads = True
            self._show(leads=True)
            self.log("this replica leads", logger=LOGGER, lease=self._name, identity=self._identity)
        self._tell(LeaseHeld())

    def _set_deadline(self, until: float) -> None:
        self._until = until
        self.later("deadline", _Deadline(), seconds=until - self._tenure.now())

    # --- how it goes

    def _lose(self, why: str) -> None:
        self._tenure.end()
        self._show(leads=False)
        self._runtime.failed(LeaseLostError(f"the lease {self._name} is lost: {why}"))

    def _trouble(self, error: Exception) -> None:
        self._stale = True
        self._tell(LeaseUnread(str(error)))
        self._turn_in(self._timing.renew_every)

    def _turn_in(self, seconds: float) -> None:
        spread = 1 + self._timing.spread * self.chance()
        self.later("turn", _Turn(), seconds=seconds * spread)

    def _tell(self, news: LeaseNews) -> None:
        if news == self._news:
            return
        self._news = news
        self._observer.tell(news)
        match news:
            case LeaseElsewhere(holder=""):
                self.log(
                    "there is no lease: waiting, as whoever held it may act still",
                    logger=LOGGER,
                    lease=self._name,
                )
            case LeaseElsewhere(holder=holder):
                self.log("another holds the lease: waiting", logger=LOGGER, lease=self._name, holder=holder)
            case LeaseUnread(problem=problem):
                self.log(
                    "no answer about the lease",
                    logger=LOGGER,
                    level="warning",
                    lease=self._name,
                    error=problem,
                )
            case _:
                pass

    def _show(self, *, leads: bool) -> None:
        self._telemetry.gauge(metrics.LEADER.name, float(leads), name=self._name.rpartition("/")[2])


def _look_at(store: LeaseStore, *, first: bool) -> _Look:
    lease = store.read()
    return _Look(lease, unused=first and lease is None and not store.has_claims())

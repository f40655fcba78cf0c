"""The replica as a candidate for the lease: its state, the answer of /readyz, and giving up the lease."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable
from typing import Final

from treenail.actors.leader_elector import LOGGER, LeaderElector
from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.threads import Threads
from treenail.adapters.controller.metrics_and_probes import Page
from treenail.adapters.controller.namespace import lease_namespace
from treenail.adapters.settings.settings import Settings
from treenail.domain.leadership.lease import IDENTITY_PREFIX, LeaseTiming
from treenail.domain.leadership.news import LeaseElsewhere, LeaseHeld, LeaseNews, LeaseUnread
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.errors import PortError
from treenail.domain.ports import LeaseStore, Telemetry

UNKNOWN: Final = "not everything there is in the cluster is known yet"
TIMING = LeaseTiming()


class Candidacy:
    """A candidate for the lease, by an identity of its own. `leads` is called when it is won."""

    def __init__(
        self,
        settings: Settings,
        store: LeaseStore,
        tenure: Tenure,
        *,
        telemetry: Telemetry,
        leads: Callable[[], None],
    ) -> None:
        self.identity = f"{IDENTITY_PREFIX}{socket.gethostname()}_{uuid.uuid4()}"
        self._name = f"{lease_namespace(settings)}/{settings.leader_election_name}"
        self._store = store
        self._tenure = tenure
        self._telemetry = telemetry
        self._leads = leads
        self._news: LeaseNews | None = None
        # Whether the lease was read or written once.
        self._answered = False

    def stand(self, threads: Threads, runtime: Runtime) -> None:
        """Ask for the lease from now on."""
        threads.host(
            LeaderElector,
            runtime,
            store=self._store,
            identity=self.identity,
            name=self._name,
            tenure=self._tenure,
            observer=self,
            timing=TIMING,
        )

    def tell(self, news: LeaseNews, /) -> None:
        """Take in how the lease stands."""
        self._news = news
        self._answered |= not isinstance(news, LeaseUnread)
        if isinstance(news, LeaseHeld):
            self._leads()

    def page(self, *, known: bool) -> Page:
        """Return what /readyz says of a replica that does not lead: it is ready to take over, or why not.

        It is ready though another holds the lease: it serves the webhook, and replaces a replica that ends.
        """
        match self._news:
            case LeaseUnread(problem=problem) if not self._answered:
                return Page.check([f"nothing is known of the lease {self._name}: {problem}"])
            case None:
                return Page.check([f"nothing is known of the lease {self._name} yet"])
        if not known:
            return Page.check([UNKNOWN])
        return Page(f"ok: waiting for the lease {self._name}, which {self._holder()} holds\n".encode())

    def give_up(self, *, quiet: bool) -> None:
        """Let the next one have the lease at once; it is left to run out while calls are under way."""
        if not isinstance(self._news, LeaseHeld):
            return
        if not quiet:
            self._log("calls are under way: the lease is not given up, but runs out", level="warning")
            return
        try:
            self._write_given_up()
        except PortError as error:
            self._log("the lease was not given up, and runs out", level="warning", error=str(error))
        else:
            self._log("the lease was given up")

    def _write_given_up(self) -> None:
        lease = self._store.read()
        if lease is not None and lease.holder == self.identity:
            self._store.write(lease.given_up(), over=lease)

    def _holder(self) -> str:
        match self._news:
            case LeaseElsewhere(holder=holder) if holder.startswith(IDENTITY_PREFIX):
                return f"the replica {holder.removeprefix(IDENTITY_PREFIX)}"
            case LeaseElsewhere(holder=holder) if holder:
                return f"another program ({holder}: Karpenter?)"
            case _:
                return "nobody"

    def _log(self, text: str, **fields: object) -> None:
        self._telemetry.log(text, logger=LOGGER, lease=self._name, **fields)

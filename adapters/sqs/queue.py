"""The port `InterruptionQueue` on Amazon SQS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import boto3

from treenail.adapters.sqs.connections import Connections, open_client
from treenail.adapters.sqs.deletion import Deletion
from treenail.adapters.sqs.queue_url import QueueUrl
from treenail.adapters.sqs.receiver import Receiver
from treenail.adapters.sqs.settings import SqsSettings
from treenail.domain.interruption.queue_messages import QueueMessage
from treenail.domain.model.errors import NotLeadingError
from treenail.domain.model.runtime import Dice, Ref
from treenail.domain.ports import Telemetry

_STOP_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Run:
    """The threads that one `feed` started."""

    stopping: threading.Event
    connections: Connections
    threads: tuple[threading.Thread, ...]


class SqsQueue:
    """An interruption queue in SQS, at the region and endpoint that boto3 finds in the environment.

    While `congested` says so, no message is received. An error of a thread that is not SQS's but a defect
    of ours goes to `failed`. One receiver at a time: feeding another one takes the place of the first.
    Safe to share between threads. `may_change` is asked before messages are received or deleted.
    """

    def __init__(
        self,
        settings: SqsSettings,
        *,
        dice: Dice,
        telemetry: Telemetry,
        congested: Callable[[], bool],
        failed: Callable[[BaseException], None],
        session: boto3.Session | None = None,
        may_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._dice = dice
        self._telemetry = telemetry
        self._congested = congested
        self._failed = failed
        self._session = session or boto3.Session()
        self._url = QueueUrl(settings.name)
        # Deleting goes on while receiving is stopped, so it has connections of its own.
        client = open_client(self._session, wait_seconds=0)
        self._deletion = Deletion(client, self._url, dice, may_change=may_change)
        self._may_change = may_change
        self._lock = threading.Lock()
        self._run: _Run | None = None

    def feed(self, to: Ref[QueueMessage]) -> None:
        """From now on tell `to` every message received. One not deleted comes again."""
        self.stop()
        run = self._prepare(to)
        with self._lock:
            self._run = run
        for thread in run.threads:
            thread.start()

    def _must_wait(self) -> bool:
        """Return whether nothing is received now: too much waits already, or another replica leads.

        What one replica receives is hidden from the others for a while.
        """
        try:
            self._may_change()
        except NotLeadingError:
            return True
        return self._congested()

    def stop(self) -> None:
        """Receive no more. Waits for the threads to end, 2 s at most."""
        with self._lock:
            run, self._run = self._run, None
        if run is None:
            return
        run.stopping.set()
        run.connections.cut()
        until = time.monotonic() + _STOP_SECONDS
        for thread in run.threads:
            thread.join(max(0.0, until - time.monotonic()))

    def delete(self, receipts: tuple[str, ...]) -> None:
        """Delete messages that were dealt with; those that are gone already do not matter.

        Raises:
            UnavailableError: some were not deleted, though it was tried three times.
        """
        self._deletion.delete(receipts)

    def _prepare(self, to: Ref[QueueMessage]) -> _Run:
        stopping, connections = threading.Event(), Connections()
        client = open_client(self._session, wait_seconds=self._settings.wait_seconds)
        connections.watch(client)

        def receive() -> None:
            try:
                Receiver(
                    to,
                    client=client,
                    url=self._url,
                    settings=self._settings,
                    dice=self._dice,
                    telemetry=self._telemetry,
                    congested=self._must_wait,
                    stopping=stopping,
                ).run()
            except BaseException as error:  # noqa: BLE001 - what ends a thread must be told
                self._failed(error)

        threads = tuple(
            threading.Thread(target=receive, name=f"sqs-receiver-{number}", daemon=True)
            for number in range(self._settings.receivers)
        )
        return _Run(stopping, connections, threads)

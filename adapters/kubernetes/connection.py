"""The connection to the API server, shared by all readers and writers."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

import urllib3
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from treenail.adapters.kubernetes.errors import ForbiddenError, OverloadedError, ThrottledError, check
from treenail.adapters.kubernetes.kubeconfig import current_context, flaw_of, place_of, problem_of
from treenail.adapters.kubernetes.rate_limit import RateLimit
from treenail.adapters.kubernetes.sockets import tell_of_sockets, told_of_sockets
from treenail.adapters.kubernetes.stream import Stream
from treenail.domain.model.backoff import Backoff
from treenail.domain.model.errors import PortError, UnavailableError
from treenail.domain.model.purposes import purpose_at_hand
from treenail.domain.telemetry.call_delays import note_delay
from treenail.domain.telemetry.delays import CallDelay, DelayCause, cause_of_error

# Nine watches, their lists, and as many writers as there may be.
_CONNECTIONS: Final = 64
_CONNECT_SECONDS: Final = 5.0
_REQUEST_SECONDS: Final = 30.0
_USER_AGENT: Final = "treenail"
_NOTHING: Final[Mapping[str, str]] = {}

_ATTEMPTS: Final = 4
_BACKOFF: Final = Backoff(first=0.2, longest=5.0)
_SAFE: Final = frozenset({"GET", "HEAD"})
# Whoever waits for a permit for less is not delayed to speak of.
_WORTH_TELLING_SECONDS: Final = 0.1


class NotConnectedError(Exception):
    """No configuration to reach a cluster was found. The message says why."""


class Connection:
    """Requests to one API server, from any thread.

    What it is reached by (address, certificates, tokens and their renewal) is the official client's
    affair. Writes wait for a permit of the rate limit, the most urgent first; reads, and whatever the
    server refused as too much at once, are tried again a few times. `may_write` is asked just before each
    attempt at a write, and raises a PortError where it may not be sent. `timeout` is for a request, unless it
    brings its own (s). `context` is the kubeconfig's, for people.
    """

    def __init__(  # noqa: PLR0913 (all but one are set by name)
        self,
        configuration: Any,  # noqa: ANN401 - the official client brings no types
        *,
        qps: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
        dated: Callable[[datetime], None] = lambda _: None,
        may_write: Callable[[], None] = lambda: None,
        timeout: float = _REQUEST_SECONDS,
        context: str = "",
    ) -> None:
        configuration.connection_pool_maxsize = _CONNECTIONS
        configuration.keep_alive = True
        self._configuration = configuration
        self._client = ApiClient(configuration)
        tell_of_sockets(self._client.rest_client.pool_manager)
        self._writes = RateLimit(qps=qps, burst=burst, clock=clock, pause=pause)
        self._clock = clock
        self._pause = pause
        self._uniform = uniform
        self._dated = dated
        self._may_write = may_write
        self._timeout = timeout
        self._context = context
        self._token = threading.Lock()

    @classmethod
    def open(
        cls,
        *,
        kubeconfig: Path | None = None,
        context: str | None = None,
        qps: float,
        burst: int,
        dated: Callable[[datetime], None] = lambda _: None,
        may_write: Callable[[], None] = lambda: None,
        timeout: float = _REQUEST_SECONDS,
    ) -> Connection:
        """Return a connection as a kubeconfig says, without one as a pod's service account does.

        `kubeconfig` may be several files, separated as in KUBECONFIG, which are merged as kubectl does.
        `qps` and `burst` limit the writes; `dated` is called with the time in each answer; `may_write`
        and `timeout` are as for the class. Nothing is asked of the server yet.

        Raises:
            NotConnectedError: there is no such file or account, or it says nothing usable.
        """
        configuration = Configuration()
        try:
            if kubeconfig is None:
                load_incluster_config(client_configuration=configuration)
            else:
                context = context or current_context(str(kubeconfig))
                load_kube_config(
                    config_file=str(kubeconfig),
                    context=context,
                    client_configuration=configuration,
                    persist_config=False,
                )
        except Exception as error:  # noqa: BLE001 - what a broken kubeconfig raises has no end
            # Of a pod's account the client tells nothing secret.
            in_cluster = kubeconfig is None and isinstance(error, ConfigException)
            raise _not_connected(kubeconfig, str(error) if in_cluster else problem_of(error)) from None
        flaw = flaw_of(configuration)
        if flaw:
            raise _not_connected(kubeconfig, flaw)
        return cls(
            configuration,
            qps=qps,
            burst=burst,
            dated=dated,
            may_write=may_write,
            timeout=timeout,
            context=context or "",
        )

    @property
    def context(self) -> str:
        """The context of the kubeconfig that is in use, "" in the cluster."""
        return self._context

    @property
    def place(self) -> str:
        """The address of the API server, for people: nothing in it is a credential."""
        return place_of(self._configuration)

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return str(self._configuration.host)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = _NOTHING,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> bytes:
        """Return the body of the answer. `timeout` is for all attempts together, in seconds.

        Raises:
            PortError: the one that fits what the API server said, or UnavailableError where it did not.
        """
        timeout = self._timeout if timeout is None else timeout
        until = self._clock() + timeout
        headers = {"Content-Type": content_type} if body is not None else {}
        if method not in _SAFE:
            asked = self._clock()
            try:
                self._writes.take(within=timeout, purpose=purpose_at_hand())
            finally:
                self._tell(DelayCause.RATE_LIMIT, method, asked)
        for attempt in range(1, _ATTEMPTS + 1):
            sent = self._clock()
            left = max(0.1, until - sent)
            if method not in _SAFE:
                self._may_write()
            try:
                with self._answer(method, path, query, headers, body, left) as answer:
                    return self._read(answer, method, path)
            except PortError as error:
                pause = self._pause_before_next(error, attempt, method)
                if pause is None or self._clock() + pause >= until:
                    raise
                failure = error
            self._pause(pause)
            self._tell(cause_of_error(failure), method, sent, attempts=1, why=str(failure))
        raise AssertionError("the last attempt returns or raises")

    def _tell(
        self, cause: DelayCause, method: str, since: float, *, attempts: int = 0, why: str = ""
    ) -> None:
        """Note for the caller what has delayed its request since second `since` of the clock."""
        seconds = self._clock() - since
        if attempts or seconds >= _WORTH_TELLING_SECONDS:
            what = f"Kubernetes/{method}"
            note_delay(CallDelay(cause=cause, what=what, seconds=seconds, attempts=attempts, why=why))

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str] = _NOTHING,
        idle_timeout: float,
        opening: Callable[[Stream], None] | None = None,
    ) -> Iterator[Stream]:
        """Open an answer that is read as it comes: the lines of a watch. Another thread may close it.

        `opening` is given the stream before anything is asked, for that one to close it even then. Nothing
        is tried again.

        Raises:
            PortError: it is refused, or cut, or nothing came for `idle_timeout` seconds.
        """
        stream = Stream(f"GET {path}")
        if opening is not None:
            opening(stream)
        try:
            with told_of_sockets(stream), self._answer("GET", path, query, {}, None, idle_timeout) as answer:
                if answer.status != 200:  # noqa: PLR2004 - OK
                    self._read(answer, "GET", path)
                stream.answered(answer)
                yield stream
        finally:
            stream.ended()

    def close(self) -> None:
        """Close the connections that are not in use, and those in use when they are given back."""
        pools = self._client.rest_client.pool_manager.pools
        # Without this they would be closed whenever the pool is collected.
        for key in pools.keys():  # noqa: SIM118 - it is no mapping
            pools[key].close()
        self._client.close()

    @contextmanager
    def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | None,
        timeout: float,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        try:
            answer: urllib3.BaseHTTPResponse = self._client.rest_client.pool_manager.request_encode_url(
                method,
                self.url + path,
                fields=dict(query) or None,
                body=body,
                headers={"Accept": "application/json", "User-Agent": _USER_AGENT, **headers, **self._who()},
                timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, timeout), read=timeout),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise _no_answer(error, method, path) from None
        at = _read_date(answer.headers.get("Date"))
        if at is not None:
            self._dated(at)
        try:
            yield answer
        finally:
            # One that was read to its end is with the other idle ones by now.
            answer.close()

    def _read(self, answer: urllib3.BaseHTTPResponse, method: str, path: str) -> bytes:
        try:
            body = answer.read()
        except urllib3.exceptions.HTTPError as error:
            raise _no_answer(error, method, path) from None
        answer.release_conn()
        check(answer.status, body, answer.headers, f"{method} {path}")
        return body

    def _who(self) -> dict[str, str]:
        """Return the header that says who asks. The official client renews what is about to run out."""
        with self._token:
            try:
                settings = self._configuration.auth_settings()
            except (ConfigException, OSError) as error:
                raise UnavailableError(f"credentials could not be renewed: {type(error).__name__}") from None
        return {s["key"]: s["value"] for s in settings.values() if s["in"] == "header" and s["value"]}

    def _pause_before_next(self, error: PortError, attempt: int, method: str) -> float | None:
        """Return how long to wait before trying again; None where that is not safe, or of no use."""
        if attempt == _ATTEMPTS:
            return None
        wanted: float | None = None
        match error:
            case ThrottledError(budget=False):
                # The server did nothing, so that even a write may be sent again.
                wanted = error.retry_after
            case OverloadedError() if method in _SAFE:
                wanted = error.retry_after
            case _NotSentError():
                pass
            case ForbiddenError():
                # Nobody allows it within a second.
                return None
            case UnavailableError() if method in _SAFE:
                pass
            case _:
                return None
        if wanted is not None and wanted > _BACKOFF.longest:
            return None
        return (wanted or 0.0) + self._uniform(*_BACKOFF.bounds(attempt))


def _read_date(text: str | None) -> datetime | None:
    """Return when an answer was given, as its header says; None where that says nothing usable."""
    try:
        at = parsedate_to_datetime(text) if text is not None else None
        return at.astimezone(UTC) if at is not None else None
    except (ValueError, OverflowError):
        return None


def _not_connected(kubeconfig: Path | None, problem: str) -> NotConnectedError:
    where = "in the cluster" if kubeconfig is None else str(kubeconfig)
    return NotConnectedError(f"no way to the API server ({where}): {problem}")


class _NotSentError(UnavailableError):
    """The server was not reached: nothing was done."""


def _no_answer(error: urllib3.exceptions.HTTPError, method: str, path: str) -> UnavailableError:
    match error:
        case urllib3.exceptions.NewConnectionError():
            return _NotSentError(f"{method} {path}: no connection to the API server")
        case urllib3.exceptions.ConnectTimeoutError():
            return _NotSentError(f"{method} {path}: no connection to the API server in time")
        case urllib3.exceptions.SSLError():
            return UnavailableError(f"{method} {path}: no trusted connection to the API server: {error}")
        case urllib3.exceptions.TimeoutError():
            return UnavailableError(f"{method} {path}: no answer in time")
        case _:
            return UnavailableError(f"{method} {path}: the connection broke: {type(error).__name__}")

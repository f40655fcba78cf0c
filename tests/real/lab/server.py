"""The server process: moto, patched and laid out, behind faults, counts and controls."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

# Before moto is imported: its own thousand images would take a second, and hide ours.
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"

from botocore.loaders import JSONFileLoader
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

from tests.real.lab import fleets, launch_templates, paging, pricing, queues, spot_prices
from tests.real.lab.capacity_reservations import CapacityReservations
from tests.real.lab.control import Control
from tests.real.lab.estate import Estate, lay_out
from tests.real.lab.faults import Fault, Faults
from tests.real.lab.machines import Machines
from tests.real.lab.placement_groups import PlacementGroups
from tests.real.lab.schedule import Schedule
from tests.real.lab.statuses import Statuses
from tests.real.lab.tokens import Tokens
from tests.real.lab.wire import App, Call, Environ, StartResponse, answer, refuse
from tests.real.lab.world import World
from tests.real.lab.zonal_shifts import ZonalShifts

CONTROL: Final = "/_lab/"
# What our clients call themselves, beside botocore's name.
_TREENAIL: Final = "treenail"
_APP: Final = re.compile(r"\bapp/([\w-]+)")
_LOOK_UPS: Final = ("Describe", "GET ", "Get", "List", "Receive")
# Their answers never change, and are slow to make: they are made once.
_LASTING: Final = ("DescribeInstanceTypes", "DescribeInstanceTypeOfferings")
_FINE: Final = 200
_SERVER_ERROR: Final = 500
_LOST: Final = 503
_MOST_SHOWN: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where to serve, and what the account is laid out with."""

    port: int
    region: str = "us-east-1"
    cluster: str = "lab"
    kubernetes: str = "1.34"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Laboratory:
    """All parts of the server, made to work together. As a WSGI application it is the whole of AWS."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.world, self.faults = World(), Faults()
        self.calls: Counter[str] = Counter()
        # What Treenail's own clients called, since anybody asked.
        self.called_by_treenail: dict[str, None] = {}
        # When (monotonic seconds), by which client that has a name, and what: calls that change something.
        self.changes: list[tuple[float, str, str]] = []
        self.errors: list[str] = []
        # moto goes through its instances while they change. So there is one call to EC2 at a time, which also
        # keeps two fleets from taking the last instance of a pool.
        self._turn = threading.RLock()
        self._schedule, self._tokens = Schedule(self._turn), Tokens()
        self._machines = Machines(self.world, self._schedule)
        self._placement_groups = PlacementGroups()
        self.zonal_shifts = ZonalShifts(self.settings.region, self.settings.cluster)
        self.statuses = Statuses()
        self.reservations = CapacityReservations()
        self._moto: App = DomainDispatcherApplication(create_backend_app)
        self._control = Control(self)
        self._counting = threading.Lock()
        self._lasting: dict[tuple[str, str, bytes] | None, bytes] = {}
        self.estate: Estate

    def install(self) -> None:
        """Patch moto, and lay out the account."""
        self._machines.install()
        self._placement_groups.install()
        self.statuses.install()
        self.reservations.install()
        fleets.install(self.world, self._tokens, self.reservations, self._placement_groups)
        launch_templates.install(self._tokens)
        spot_prices.install(self.world)
        paging.install()
        queues.install()
        self._schedule.start()
        self.reset()

    def reset(self) -> None:
        """Be as at the start, but for the errors noted."""
        self._schedule.clear()
        of_account = (self._placement_groups, self.reservations, self.statuses, self.zonal_shifts)
        for part in (self.world, self.faults, self._tokens, self._machines, *of_account):
            part.reset()
        moto_api_backend.reset()
        with self._counting:
            self.calls.clear()
            self.changes.clear()
        s = self.settings
        self.estate = lay_out(s.region, s.cluster, kubernetes=s.kubernetes, endpoint=s.endpoint)

    def __call__(self, environ: Environ, start: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        if environ["PATH_INFO"].startswith(CONTROL):
            return self._control.answer(environ, start)
        call = Call.of(environ)
        with self._counting:
            self.calls[f"{call.service}:{call.action}"] += 1
            agent = environ.get("HTTP_USER_AGENT", "")
            if _TREENAIL in agent:
                self.called_by_treenail[f"{call.service}:{call.action}"] = None
            if (named := _APP.search(agent)) and not call.action.startswith(_LOOK_UPS):
                self.changes.append((time.monotonic(), named[1], call.action))
        fault = self.faults.of(call)
        if fault is None:
            return self._serve(call, environ, start)
        return self._fail(fault, call, environ, start)

    def _fail(self, fault: Fault, call: Call, environ: Environ, start: StartResponse) -> Iterable[bytes]:
        time.sleep(fault.delay)
        spoilt = fault.code or fault.cut
        if not spoilt and not fault.after:
            return self._serve(call, environ, start)
        if fault.after:
            list(self._serve(call, environ, _ignored))
        if fault.cut:
            return _hang_up(environ)
        code, status = (fault.code, fault.status) if fault.code else ("ServiceUnavailable", _LOST)
        return refuse(start, call, code=code, message=fault.message or code, status=status)

    def _serve(self, call: Call, environ: Environ, start: StartResponse) -> Iterable[bytes]:
        if call.service == "arc-zonal-shift":
            return self.zonal_shifts.answer(call, start)
        if call.service == "pricing":
            return pricing.get_products(self.world, self.settings.region, call, start)
        lasting = (call.action, call.region, call.body) if call.action in _LASTING else None
        if lasting in self._lasting:
            return answer(start, 200, self._lasting[lasting], "text/xml")
        with self._turn if call.service == "ec2" else nullcontext():
            status, headers, body = self._ask_moto(environ)
        number = int(status.split()[0])
        if number < _SERVER_ERROR:
            if lasting is not None and number == _FINE:
                self._lasting[lasting] = body
            start(status, headers)
            return [body]
        with self._counting:
            self.errors.append(f"{call.service}:{call.action} {status} {_end_of(body)}")
        return refuse(start, call, code="InternalError", message="An internal error has occurred", status=500)

    def _ask_moto(self, environ: Environ) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return moto's answer. What it does not know, or breaks on, is an error 500."""
        given: list[Any] = []
        try:
            body = b"".join(self._moto(environ, lambda *args, **_: given.extend(args[:2])))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is noted, and fails the test
            return "500 Internal Server Error", [], repr(error).encode()
        return given[0], given[1], body


def _ignored(*_args: Any, **_kwargs: Any) -> None:
    """Take an answer's head that nobody gets to see."""


def _hang_up(environ: Environ) -> list[bytes]:
    # The server then sees a client that has gone, and says no more of it.
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionResetError("the laboratory closed the connection")


def _end_of(body: bytes) -> str:
    """Return the end of a text, on one line."""
    return " ".join(body.decode(errors="replace").split())[-_MOST_SHOWN:]


def serve(settings: Settings) -> None:
    """Serve until the process ends; says "ready" on standard output when it does."""
    # A log line for each call, and AWS's endpoints read anew for each cluster, take longer than most answers.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    load = cache(JSONFileLoader().load_file)
    JSONFileLoader.load_file = lambda _, file_path: load(file_path)  # type: ignore[assignment, method-assign]
    lab = Laboratory(settings)
    lab.install()
    server = make_server("127.0.0.1", settings.port, lab, threaded=True, request_handler=MotoRequestHandler)
    print("ready", flush=True)  # noqa: T201
    server.serve_forever()

"""What a test may ask of the server process itself: paths under /_lab/, in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from moto.eks.models import eks_backends

from tests.real.lab.estate import ACCOUNT
from tests.real.lab.wire import Environ, StartResponse, answer_json

if TYPE_CHECKING:
    from tests.real.lab.server import Laboratory


class Control:
    """Dispatches /_lab/NAME with a JSON object of arguments to what it governs."""

    def __init__(self, lab: Laboratory) -> None:
        self._lab = lab
        world, faults = lab.world, lab.faults
        self._verbs: Mapping[str, Callable[..., Any]] = {
            "reset": lab.reset,
            "estate": lambda: asdict(lab.estate),
            "calls": lambda: dict(lab.calls),
            "called-by-treenail": self._called_by_treenail,
            "changes": lambda: list(lab.changes),
            "errors": lambda: list(lab.errors),
            "forget-errors": lab.errors.clear,
            "fault": faults.add,
            "clear-faults": faults.clear,
            "throttle": faults.throttle,
            "outage": faults.outage,
            "pace": world.set_pace,
            "state-events": self._state_events,
            "run-out": world.run_out,
            "restock": world.restock,
            "fail-check": lab.statuses.fail,
            "plan-event": lab.statuses.plan,
            "spot-price": world.set_spot_price,
            "on-demand-price": world.set_on_demand_price,
            "spot-price-of": world.spot_price,
            "on-demand-price-of": world.on_demand_price,
            "make-block": lab.reservations.make_block,
            "begin-shift": lab.zonal_shifts.begin,
            "cancel-shift": lab.zonal_shifts.cancel,
            "cluster-endpoint": self._cluster_endpoint,
        }

    def answer(self, environ: Environ, start: StartResponse) -> list[bytes]:
        """Do what is asked, and answer with what it returns."""
        name = environ["PATH_INFO"].rpartition("/")[2]
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        verb = self._verbs.get(name)
        if verb is None:
            return answer_json(start, f"no such control: {name}", 404)
        try:
            return answer_json(start, verb(**json.loads(body or b"{}")))
        except (TypeError, ValueError) as error:
            return answer_json(start, str(error), 400)

    def _called_by_treenail(self) -> list[str]:
        called = list(self._lab.called_by_treenail)
        self._lab.called_by_treenail.clear()
        return called

    def _state_events(self, *, on: bool) -> None:
        self._lab.world.state_events = on

    def _cluster_endpoint(self, *, url: str, ca: str) -> None:
        settings = self._lab.settings
        cluster = eks_backends[ACCOUNT][settings.region].clusters[settings.cluster]
        cluster.endpoint, cluster.certificate_authority = url, {"data": ca}

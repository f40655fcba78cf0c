"""ARC's zonal shifts, which moto lacks: GetManagedResource for the laboratory's cluster."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import unquote

from tests.real.lab.estate import ACCOUNT
from tests.real.lab.wire import Call, StartResponse, answer_json, refuse


class ZonalShifts:
    """The shifts of one cluster, as ARC tells them: by the ids of their zones."""

    def __init__(self, region: str, cluster: str) -> None:
        self._arn = f"arn:aws:eks:{region}:{ACCOUNT}:cluster/{cluster}"
        self._shifts: dict[str, dict[str, Any]] = {}

    def reset(self) -> None:
        """Forget all shifts."""
        self._shifts.clear()

    def begin(self, zone_id: str, *, seconds: float, status: str = "APPLIED") -> None:
        """Shift the cluster away from a zone for so long."""
        now = time.time()
        self._shifts[zone_id] = {
            "appliedStatus": status,
            "zonalShiftId": f"6ebcf4e8-{zone_id}",
            "resourceIdentifier": self._arn,
            "awayFrom": zone_id,
            "startTime": now,
            "expiryTime": now + seconds,
            "comment": "a test",
        }

    def cancel(self, zone_id: str) -> None:
        """End the shift away from a zone."""
        self._shifts.pop(zone_id, None)

    def answer(self, call: Call, start: StartResponse) -> list[bytes]:
        """Answer a call: there is one resource, and one question."""
        arn = unquote(call.action.removeprefix("GET /managedresources/"))
        if arn != self._arn:
            code, message = "ResourceNotFoundException", f"{arn} is not registered"
            return refuse(start, call, code=code, message=message, status=404)
        now = time.time()
        lasting = [one for one in self._shifts.values() if one["expiryTime"] > now]
        told = {"arn": arn, "appliedWeights": {}, "zonalShifts": lasting, "autoshifts": []}
        return answer_json(start, told)

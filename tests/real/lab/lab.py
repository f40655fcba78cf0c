"""How a test reaches and governs the laboratory."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import boto3
from botocore.config import Config

from tests.cloudformation import allowed_actions
from tests.real.lab.notices import Notices
from tests.real.lab.wire import permission_of
from tests.real.lab.world import ANY

ROOT: Final = Path(__file__).parents[3]
_START_SECONDS: Final = 60
_KEY: Final = "lab-key"
_SECRET: Final = "lab-secret"  # noqa: S105


class LabError(Exception):
    """The laboratory did not start, or does not know what it was asked for."""


class Lab:
    """A running laboratory. Its account has a cluster's network, roles, queue and images: see `estate`."""

    def __init__(self, process: subprocess.Popen[str], port: int, region: str, cluster: str) -> None:
        self._process = process
        self.endpoint_url = f"http://127.0.0.1:{port}"
        self.region = region
        self.cluster = cluster
        self._clients: dict[tuple[str, str], Any] = {}

    @classmethod
    def start(cls, *, region: str = "us-east-1", cluster: str = "lab", kubernetes: str = "1.34") -> Lab:
        """Start a server process on a free port.

        Raises:
            LabError: it ended at once.
        """
        port = _free_port()
        account = ("--region", region, "--cluster", cluster, "--kubernetes", kubernetes)
        process = subprocess.Popen(  # noqa: S603
            (sys.executable, "-m", "tests.real.lab", str(port), "--until-eof", *account),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / '.dev'}:{ROOT}", "MOTO_ALLOW_NONEXISTENT_REGION": "1"},
            # Held open as long as we live: it ends when we do, however that is.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        lab = cls(process, port, region, cluster)
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            lab.stop()
            raise LabError(f"the laboratory did not start: run python -m tests.real.lab {port} to see why")
        return lab

    def stop(self) -> None:
        """End the server process."""
        self._process.kill()
        self._process.wait(_START_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    # --- reaching it

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which boto3, in another process too, reaches the laboratory."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
        }

    @cached_property
    def session(self) -> boto3.Session:
        """A session with the laboratory's credentials; its clients still need `endpoint_url`."""
        return boto3.Session(_KEY, _SECRET, region_name=self.region)

    def client(self, service: str, **config: Any) -> Any:
        """Return a client of a service that does not retry, unless `config` (botocore's) says so."""
        key = (service, repr(sorted(config.items())))
        if key not in self._clients:
            settings = Config(**{"retries": {"total_max_attempts": 1}, **config})
            self._clients[key] = self.session.client(  # type: ignore[call-overload]
                service, endpoint_url=self.endpoint_url, config=settings
            )
        return self._clients[key]

    # --- what there is

    @cached_property
    def estate(self) -> dict[str, Any]:
        """What is laid out: the fields of `tests.real.lab.estate.Estate`. Another one after `reset`."""
        return dict(self._control("estate"))

    def calls(self) -> dict[str, int]:
        """Return how often each action was called since the last reset, as {"ec2:CreateFleet": 2}."""
        return dict(self._control("calls"))

    def called_by_treenail(self) -> list[str]:
        """Return what Treenail's clients, and no others, called since this was last asked."""
        return list(self._control("called-by-treenail"))

    def changes(self) -> list[tuple[float, str, str]]:
        """Return the calls that changed something, of clients named by AWS_SDK_UA_APP_ID, since the reset.

        Each is (when it came in monotonic seconds, the client's name, the action).
        """
        return [(at, name, action) for at, name, action in self._control("changes")]

    def spot_price(self, instance_type: str, zone: str) -> float | None:
        """Return what spot costs, in $/h."""
        return self._number("spot-price-of", instance_type=instance_type, zone=zone)

    def on_demand_price(self, instance_type: str) -> float | None:
        """Return what a type costs on demand, in $/h."""
        return self._number("on-demand-price-of", instance_type=instance_type)

    # --- the laboratory itself

    def reset(self) -> None:
        """Lay everything out anew; faults, world state, counts and tokens go. Errors noted stay."""
        self._control("reset")
        self.__dict__.pop("estate", None)

    def server_errors(self) -> list[str]:
        """Return the answers of 500 and above that no fault asked for: gaps in the laboratory."""
        return list(self._control("errors"))

    def check(self) -> None:
        """Fail where the laboratory answered with an error nobody asked for, and forget it.

        Fail too where a client of Treenail's called what its policy does not allow.
        """
        errors = self.server_errors()
        self._control("forget-errors")
        assert not errors, f"the laboratory answered with errors of its own: {errors}"
        forbidden = {permission_of(call) for call in self.called_by_treenail()} - allowed_actions()
        assert not forbidden, f"deploy/cloudformation does not allow {sorted(forbidden)}"

    def set_cluster_endpoint(self, url: str, ca: str) -> None:
        """Have DescribeCluster name this API server, with the base64 of its certificate authority."""
        self._control("cluster-endpoint", url=url, ca=ca)

    # --- faults

    def fault(self, service: str | None = None, action: str | None = None, **rule: Any) -> None:
        """Have calls go wrong: see `tests.real.lab.faults.Fault` for the rest of the rule."""
        self._control("fault", service=service, action=action, **rule)

    def clear_faults(self) -> None:
        """End all rules of `fault`."""
        self._control("clear-faults")

    def throttle(self, action: str, *, rate: float, burst: float, service: str = "ec2") -> None:
        """Let only `rate` calls per second of an action pass, and `burst` at once, till the reset."""
        self._control("throttle", service=service, action=action, rate=rate, burst=burst)

    @contextmanager
    def outage(self, *, status: int = 503, service: str | None = None) -> Iterator[None]:
        """Answer every call (of a service) with an error meanwhile."""
        self._control("outage", on=True, status=status, service=service)
        try:
            yield
        finally:
            self._control("outage", on=False)

    # --- the world

    def run_out(
        self,
        capacity_type: str = ANY,
        instance_type: str = ANY,
        zone: str = ANY,
        *,
        left: int = 0,
        code: str = "InsufficientInstanceCapacity",
    ) -> None:
        """Have only `left` more instances to sell of the pools this covers; after them comes `code`."""
        self._control(
            "run-out",
            capacity_type=capacity_type,
            instance_type=instance_type,
            zone=zone,
            left=left,
            code=code,
        )

    def restock(self) -> None:
        """End all that has run out."""
        self._control("restock")

    def set_pace(self, **seconds: float) -> None:
        """Set how many seconds instances are `pending`, `hidden`, in `shutdown`, and `listed` after it."""
        self._control("pace", **seconds)

    def set_spot_price(self, instance_type: str, zone: str, price: float) -> None:
        """Set a spot price in $/h."""
        self._control("spot-price", instance_type=instance_type, zone=zone, price=price)

    def set_on_demand_price(self, instance_type: str, price: float) -> None:
        """Set an on-demand price in $/h; spot prices follow."""
        self._control("on-demand-price", instance_type=instance_type, price=price)

    def make_block(self, reservation_id: str) -> None:
        """Have a capacity reservation be a capacity block."""
        self._control("make-block", reservation_id=reservation_id)

    def begin_shift(self, zone_id: str, *, seconds: float, status: str = "APPLIED") -> None:
        """Have ARC shift the cluster away from a zone for so long."""
        self._control("begin-shift", zone_id=zone_id, seconds=seconds, status=status)

    def cancel_shift(self, zone_id: str) -> None:
        """Have ARC end the shift away from a zone."""
        self._control("cancel-shift", zone_id=zone_id)

    # --- events

    def state_events(self, *, on: bool) -> None:
        """Say whether EC2 announces every change of an instance's state; it does at the start."""
        self._control("state-events", on=on)

    def spot_warning(self, instance_id: str) -> None:
        """Warn that a spot instance is taken back in two minutes."""
        self._notices.spot_warning(instance_id)

    def rebalance(self, instance_id: str) -> None:
        """Recommend to replace a spot instance."""
        self._notices.rebalance(instance_id)

    def state_change(self, instance_id: str, state: str) -> None:
        """Announce that an instance is in another state, whether it is or not."""
        self._notices.state_change(instance_id, state)

    def fail_check(self, instance_id: str, check: str = "instance", *, seconds: float = 0.0) -> None:
        """Let a status check ("instance" or "system") have failed for so many seconds."""
        self._control("fail-check", instance_id=instance_id, check=check, seconds=seconds)

    def plan_event(
        self, instance_id: str, code: str, *, seconds: float, description: str = "retirement"
    ) -> None:
        """Have EC2 plan an event, such as "instance-stop", in so many seconds."""
        self._control(
            "plan-event", instance_id=instance_id, code=code, seconds=seconds, description=description
        )

    def scheduled_change(self, instance_ids: Sequence[str], starts_at: datetime | None = None) -> None:
        """Announce by AWS Health that instances are retired, in two weeks where no time is given."""
        self._notices.retirement(instance_ids, starts_at or datetime.now(UTC) + timedelta(days=14))

    @cached_property
    def _notices(self) -> Notices:
        return Notices(self.client("events"), region=self.region)

    def _number(self, name: str, **arguments: Any) -> float | None:
        value = self._control(name, **arguments)
        return None if value is None else float(value)

    def _control(self, name: str, **arguments: Any) -> Any:
        request = urllib.request.Request(  # noqa: S310
            f"{self.endpoint_url}/_lab/{name}", json.dumps(arguments).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=_START_SECONDS) as answer:  # noqa: S310
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise LabError(f"{name}: {error.read().decode()}") from None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])

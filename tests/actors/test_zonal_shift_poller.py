from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.actors.stage import Stage
from tests.actors.troubles import Api, StubCloud
from tests.builders import instance_type
from tests.probes import Probe
from treenail.actors.zonal_shift_poller import ZonalShiftPoller
from treenail.adapters.fake.ec2.zonal_shifts import FakeZonalShifts
from treenail.domain.model.zonal_shifts import ZonalShift, ZonesShifted

ZONE = "use1-az2"


class Polling(Stage):
    """The poller of a cluster's shifts; ARC may be `away`."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.cluster = Probe()
        self.shifts = FakeZonalShifts(self.world, away=lambda: self.away)
        cloud = StubCloud(self.world, instance_type("m5.large", 2, price=0.1))
        api = Api(self.world)
        self.actor: Any = self.host(
            lambda runtime: ZonalShiftPoller(
                runtime, cluster=self.cluster, shifts=self.shifts, cloud=cloud, writer=api
            )
        )

    def shift(self, seconds: float, *, applied: bool = True) -> None:
        self.shifts.begin(ZonalShift(ZONE, self.world.now() + timedelta(seconds=seconds), applied))

    @property
    def closed(self) -> set[str]:
        """The zones that were told of last."""
        return set(self.cluster.of(ZonesShifted)[-1].zone_ids)


def test_shifts_are_asked_for_at_once_and_every_half_minute() -> None:
    stage = Polling()
    stage.run(1)
    assert stage.closed == set()

    stage.shift(600)
    stage.run(31)
    assert stage.closed == {ZONE}

    stage.shifts.cancel(ZONE)
    stage.run(31)
    assert stage.closed == set()


def test_a_shift_that_is_not_applied_closes_nothing() -> None:
    stage = Polling()
    stage.shift(600, applied=False)

    stage.run(31)

    assert stage.closed == set()


def test_without_an_answer_a_shift_lasts_until_it_expires() -> None:
    stage = Polling()
    stage.shift(300)
    stage.run(31)
    stage.away = True

    stage.run(200)
    assert stage.closed == {ZONE}
    assert any(line.message == "cannot ask for zonal shifts" for line in stage.telemetry.logs)

    stage.run(100)
    assert stage.closed == set()

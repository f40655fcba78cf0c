from __future__ import annotations

import time

import pytest

from tests.real.ec2.clouds import aws_of
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.clients import open_arc_client
from treenail.adapters.ec2.zonal_shifts import ArcZonalShifts
from treenail.domain.model.errors import PortError


def shifts_of(lab: Lab) -> ArcZonalShifts:
    aws = aws_of(lab)
    arc = open_arc_client(aws.clients, lab.session, endpoint_url=lab.endpoint_url)
    return ArcZonalShifts(aws, arc, cluster_name=lab.cluster)


def test_shifts_are_read_over_the_wire_until_they_are_taken_back(lab: Lab) -> None:
    shifts = shifts_of(lab)
    assert shifts.zonal_shifts() == ()

    lab.begin_shift("use1-az2", seconds=600)
    lab.begin_shift("use1-az4", seconds=600, status="NOT_APPLIED")

    told = shifts.zonal_shifts()
    assert [(one.zone_id, one.applied) for one in told] == [("use1-az2", True), ("use1-az4", False)]
    assert told[0].until.timestamp() == pytest.approx(time.time() + 600, abs=60)
    lab.cancel_shift("use1-az2")
    assert [one.zone_id for one in shifts.zonal_shifts()] == ["use1-az4"]


def test_an_outage_of_arc_is_told_as_no_answer(lab: Lab) -> None:
    shifts = shifts_of(lab)
    shifts.zonal_shifts()

    with lab.outage(service="arc-zonal-shift"), pytest.raises(PortError):
        shifts.zonal_shifts()

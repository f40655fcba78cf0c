from __future__ import annotations

from dataclasses import replace

import pytest

from tests.real.ec2.clouds import cloud_of, request
from tests.real.lab.lab import Lab
from treenail.domain.model import labels
from treenail.domain.model.fleets import Override
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverride, PriceOverrides

# By the public prices c5.large costs less than m5.large.
PAID = PriceOverrides((PriceOverride(instance_types=("m5.*",), price=0.01),))
BOTH = (Override("c5.large", "us-east-1a", 0.085), Override("m5.large", "us-east-1a", 0.01))


@pytest.mark.parametrize(("prices", "bought"), [(NO_OVERRIDES, "c5.large"), (PAID, "m5.large")])
def test_on_demand_ec2_gives_what_costs_the_least_by_ones_own_prices(
    lab: Lab, prices: PriceOverrides, bought: str
) -> None:
    asked = replace(request(capacity_type=labels.ON_DEMAND), overrides=BOTH)

    answer = cloud_of(lab, prices=prices).launch(asked)

    assert [one.instance_type for one in answer.instances] == [bought]

from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import fleet_requests
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model import labels


@pytest.mark.parametrize("tenancy", ["default", "dedicated"])
def test_pods_that_ask_whose_hardware_they_run_on_get_a_node_that_says_so(tenancy: str) -> None:
    with Rehearsal(seed=1) as rehearsal:
        requests = fleet_requests(rehearsal)
        asking = deployment(replicas=2, node_selector={labels.INSTANCE_TENANCY: tenancy})
        rehearsal.apply(text(node_class(), node_pool(), asking))
        rehearsal.run("5m")

        assert rehearsal.running() == 2
        [node] = rehearsal.nodes()
        assert node.labels[labels.INSTANCE_TENANCY] == tenancy
        assert [request.dedicated for request in requests] == [tenancy == "dedicated"]

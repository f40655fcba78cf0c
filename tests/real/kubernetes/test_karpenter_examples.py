from __future__ import annotations

from typing import Final

import pytest

from tests.adapters.api.karpenter_examples import EXAMPLES, Example
from tests.real.kubernetes.definitions import place
from tests.real.parts.control_plane import ControlPlane

PLACES: Final = {
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "Namespace": "/api/v1/namespaces",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_of_karpenter_is_taken_or_refused_as_there(server: ControlPlane, example: Example) -> None:
    path = PLACES.get(example.tree["kind"]) or place(example.tree)

    status, answer = server.request("POST", f"{path}?dryRun=All&fieldValidation=Strict", example.tree)

    if example.refused:
        assert status in (400, 422), answer
        assert example.refused in answer["message"]
    else:
        assert status == 201, answer

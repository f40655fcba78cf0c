from __future__ import annotations

import json
from typing import Any

import pytest

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.domain.model import labels
from treenail.domain.model.devices import DeviceRequest, DeviceWishes
from treenail.domain.model.pods import Expression
from treenail.domain.model.requirements import Operator
from treenail.domain.model.resource_claims import ResourceClaim

ONE_GPU = DeviceWishes(requests=(DeviceRequest(name="gpu", device_class="gpu"),))
ON_N1 = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}


def manifest(status: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "ml", **meta},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": status or {},
    }


def read(*manifests: dict[str, Any]) -> tuple[ResourceClaim, ...]:
    written = "\n---\n".join(map(json.dumps, manifests)).encode()
    return decode_all(parse_manifests(written, "claims.yaml")).resource_claims


def test_a_claim_is_read_with_the_nodes_of_its_devices_and_its_users() -> None:
    selector = {"nodeSelectorTerms": [ON_N1]}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1", "controller": True}
    status = {
        "allocation": {"nodeSelector": selector, "devices": {"results": []}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u1"}],
    }

    assert read(manifest(status, ownerReferences=[owner])) == (
        ResourceClaim(
            name="gpu",
            namespace="ml",
            made_for="u1",
            allocated=True,
            nodes=((Expression(labels.NODE_NAME, Operator.IN, ("n1",)),),),
            users=("u1",),
            wishes=ONE_GPU,
        ),
    )


def test_a_claim_without_status_has_no_devices() -> None:
    assert read(manifest()) == (ResourceClaim(name="gpu", namespace="ml", wishes=ONE_GPU),)


def test_a_claim_of_somebody_who_is_no_pod_was_made_for_none() -> None:
    owner = {"apiVersion": "x.io/v1", "kind": "Job", "name": "p", "uid": "u1", "controller": True}

    assert read(manifest(ownerReferences=[owner])) == (
        ResourceClaim(name="gpu", namespace="ml", wishes=ONE_GPU),
    )


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({"allocation": {"nodeSelector": {}}}, "status.allocation.nodeSelector.nodeSelectorTerms"),
        (
            {"allocation": {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "x"}]}]}}},
            "status.allocation.nodeSelector.nodeSelectorTerms[0].matchFields[0].operator",
        ),
        ({"reservedFor": [{"name": "p"}]}, "status.reservedFor[0].uid"),
        ({"allocation": "gpu-0"}, "status.allocation"),
    ],
)
def test_what_cannot_be_understood_of_a_claim_is_said(status: dict[str, Any], field: str) -> None:
    with pytest.raises(ManifestError) as caught:
        read(manifest(status))

    assert field in str(caught.value)

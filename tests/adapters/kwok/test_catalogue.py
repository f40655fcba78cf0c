from __future__ import annotations

import json
from pathlib import Path

import pytest

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.model import labels
from treenail.domain.model.resources import Resources

ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}
SPOT = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}


def written(tmp_path: Path, **fields: object) -> Path:
    one = {
        "name": "c-4x-amd64-linux",
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "8Gi"},
        "offerings": [{"Price": 0.1, "Available": True, "Requirements": [ZONE, SPOT]}],
        **fields,
    }
    file = tmp_path / "types.json"
    file.write_text(json.dumps([one]))
    return file


def test_a_type_keeps_a_little_for_itself_and_runs_110_pods_unless_it_says_otherwise(tmp_path: Path) -> None:
    [one] = read_catalogue(written(tmp_path))

    assert one.capacity == Resources.parse({"cpu": "4", "memory": "8Gi", "pods": 110})
    assert one.allocatable == Resources.parse({"cpu": "3900m", "memory": "8182Mi", "pods": 110})


def test_a_type_has_the_labels_that_kwoks_nodes_have(tmp_path: Path) -> None:
    [one] = read_catalogue(written(tmp_path))

    assert one.label(labels.INSTANCE_TYPE) == "c-4x-amd64-linux"
    assert one.label(labels.ARCH) == "amd64"
    assert one.label("karpenter.kwok.sh/instance-family") == "c"
    assert one.label("karpenter.kwok.sh/instance-cpu") == "4"
    [offering] = one.offerings
    assert (offering.zone, offering.capacity_type, offering.price) == ("zone-a", "spot", 0.1)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"resources": {"cpu": "lots"}}, "instance type c-4x-amd64-linux: resources:"),
        ({"operatingSystems": []}, "instance type c-4x-amd64-linux: operatingSystems: is empty"),
        (
            {"offerings": [{"Price": 1.0, "Requirements": [ZONE]}]},
            "instance type c-4x-amd64-linux: offerings: one has no single karpenter.sh/capacity-type",
        ),
        ({"offerings": "none"}, "catalogue: is no catalogue of instance types"),
    ],
)
def test_what_is_wrong_is_said_with_the_type_and_the_field(
    fields: dict[str, object], problem: str, tmp_path: Path
) -> None:
    file = written(tmp_path, **fields)

    with pytest.raises(ManifestError) as caught:
        read_catalogue(file)

    assert str(caught.value).startswith(f"{file}: {problem}")

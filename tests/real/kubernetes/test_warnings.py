"""The API server warns of what is accepted though not acted on, as reading does."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest
import urllib3
import yaml

from tests.adapters.api.builders import node_pool_tree, provisioner_tree
from tests.adapters.api.schema.trees import Tree, asking
from tests.real.kubernetes.definitions import GOOD, PLURALS, ROOT, ok, place
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.kinds import kind_of
from treenail.adapters.api.reading import Reading
from treenail.adapters.api.schema.warnings import WARNINGS

REGISTRATION: Final = "/apis/admissionregistration.k8s.io/v1"
POLICIES: Final = list(
    yaml.safe_load_all((ROOT / "deploy/chart-crd/warnings.yaml").read_text(encoding="utf-8"))
)
WARNED: Final = {(f"{one.group}/{one.version}", one.plural) for one in WARNINGS}
KEPT: Final = node_pool_tree(
    {"expireAfter": "Never"}, disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}
)
VALUED: Final = asking("a", "Exists", "b")
TREES: Final[dict[str, Tree]] = {
    "a pool all of which is acted on": KEPT,
    "a pool that says nothing": node_pool_tree(),
    "values that say nothing": node_pool_tree(VALUED),
    "values that say nothing of a Provisioner": provisioner_tree(**VALUED),
    "consolidation": provisioner_tree(consolidation={"enabled": True}),
    "no consolidation": provisioner_tree(consolidation={"enabled": False}),
    **{
        f"{m.kind} {m.name}": msgspec.to_builtins(m.content)
        for m in GOOD
        if (m.api_version, PLURALS[m.api_version, m.kind]) in WARNED
        if "v1beta1" not in m.api_version and "everything" in m.file
    },
}


@pytest.fixture(scope="module")
def warning(server: ControlPlane) -> Iterator[ControlPlane]:
    """An API server that has been given our warnings too."""
    places = [(f"{REGISTRATION}/{plural(p['kind'])}", p) for p in POLICIES]
    for path, policy in places:
        ok(server.request("POST", path, policy))
    deadline = time.monotonic() + 20
    while any(not warnings_of(server, tree) for tree in TREES.values() if told(tree)):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield server
    for path, policy in places:
        ok(server.request("DELETE", f"{path}/{policy['metadata']['name']}"))


def plural(kind: str) -> str:
    return kind.lower().removesuffix("y") + ("ies" if kind.endswith("y") else "s")


def told(tree: Tree) -> set[str]:
    """The fields that reading tells of."""
    fields = kind_of(tree["apiVersion"], tree["kind"]).read(tree, Reading()).not_acted_on
    return {re.sub(r"\[\d+\]", "[]", field) for field in fields}


def created(server: ControlPlane, tree: Tree) -> urllib3.BaseHTTPResponse:
    headers = {"Authorization": f"Bearer {server.token}"}
    with urllib3.PoolManager(ca_certs=str(server.certificate)) as pool:
        return pool.request("POST", f"{server.url}{place(tree)}?dryRun=All", json=tree, headers=headers)


def warnings_of(server: ControlPlane, tree: Tree) -> set[str]:
    """The fields that the API server warns of."""
    lines = created(server, tree).headers.getlist("Warning")
    found = [
        re.search(r": (\S+): is a(?:ccepted, but not acted on yet|cted on only)", line) for line in lines
    ]
    return {match[1] for match in found if match is not None}


@pytest.mark.parametrize("case", sorted(TREES))
def test_the_api_server_warns_of_what_reading_tells_of(warning: ControlPlane, case: str) -> None:
    tree = TREES[case]

    answer = created(warning, tree)

    assert answer.status == 201
    # What the API server writes in by default counts as well: only the pool that says otherwise has none.
    assert warnings_of(warning, tree) == told(answer.json())


def test_a_pool_all_of_which_is_acted_on_is_taken_without_a_warning(warning: ControlPlane) -> None:
    assert warnings_of(warning, KEPT) == set() == told(KEPT)


def test_every_field_that_is_warned_of_is_told_of_some_manifest() -> None:
    assert {field for one in WARNINGS for field in one.acted_on if one.version != "v1beta1"} == {
        field for tree in TREES.values() for field in told(tree)
    }

"""The changed objects of the rehearsals, sent to the API server: it takes what is written that it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.mutations.plain import PATHS, plain
from tests.mutations.table import MUTATIONS, REFUSED, Mutation, Tree
from tests.real.kubernetes.definitions import ok
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.api.items import Items
from treenail.adapters.api.reading import Reading
from treenail.domain.cluster.cluster_facts import Kind

# There must be so many that it takes.
ENOUGH: Final = 200
NEW_YEAR: Final = "2026-01-01T00:00:00Z"
SAID: Final = {"status": "True", "reason": "Odd", "message": "", "lastTransitionTime": NEW_YEAR}
# Of these the status is written to objects that are there.
_WITH_STATUS: Final = ("Pod", "Node", "NodeClaim", "PodDisruptionBudget", "PersistentVolumeClaim")


@pytest.fixture(scope="module")
def stocked(server: ControlPlane) -> Iterator[ControlPlane]:
    """The API server with a plain object of each kind that has a status."""
    for kind in _WITH_STATUS:
        ok(server.request("POST", PATHS[kind], plain(kind, "plain", "plain")))
    yield server
    for kind in _WITH_STATUS:
        ok(server.request("DELETE", f"{PATHS[kind]}/plain?gracePeriodSeconds=0"))


def taken(server: ControlPlane, mutation: Mutation) -> Tree | None:
    """Return a changed object as the API server would keep it; None where it does not."""
    kind, path = mutation.kind, PATHS[mutation.kind]
    if mutation.of_status:
        tree = plain(kind, "plain", "plain")
        if kind == "NodeClaim":
            tree["status"] = {"conditions": [{"type": f"Odd{n}", **SAID} for n in range(3)]}
        body = {"status": mutation.applied(tree)["status"]}
        status, answer = server.request("PATCH", f"{path}/plain/status?dryRun=All", body, MERGE)
    else:
        tree = mutation.applied(plain(kind, "odd", "odd"))
        status, answer = server.request("POST", f"{path}?dryRun=All", tree)
    return dict(answer) if status in (200, 201) else None


def test_the_api_server_refuses_what_is_recorded_as_refused_and_nothing_else(stocked: ControlPlane) -> None:
    refused = {one.name for one in MUTATIONS if taken(stocked, one) is None}

    assert refused == REFUSED
    assert len(MUTATIONS) - len(refused) >= ENOUGH


def test_what_the_api_server_takes_is_read_in_whole(stocked: ControlPlane) -> None:
    problems: dict[str, str] = {}
    for one in MUTATIONS:
        tree = taken(stocked, one)
        if tree is not None:
            # A dry run gives no revision.
            tree["metadata"]["resourceVersion"] = "1"
            items = Items(tree["apiVersion"], one.kind, Kind(one.kind), Reading())
            aside = items.read(json.dumps(tree).encode()).aside
            problems |= {one.name: aside.problem} if aside is not None else {}

    assert problems == {}

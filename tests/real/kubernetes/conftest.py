from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.real.kubernetes.converting import converting
from tests.real.kubernetes.definitions import ok, place
from tests.real.kubernetes.subject import install_crds, remove_crds
from tests.real.parts.control_plane import ControlPlane
from treenail.adapters.api.written.parts import Tree


@pytest.fixture(scope="module")
def server(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """An API server that has been given our definitions, of all versions."""
    install_crds(api_server)
    with converting(api_server):
        yield api_server
        remove_crds(api_server)


@pytest.fixture
def made(server: ControlPlane) -> Iterator[Any]:
    """Creates objects, which must be accepted; they are gone again after the test."""
    paths: list[str] = []

    def make(tree: Tree) -> Tree:
        paths.append(place(tree, tree["metadata"]["name"]))
        return ok(server.request("POST", f"{place(tree)}?fieldValidation=Strict", tree))

    yield make
    for path in paths:
        ok(server.request("DELETE", path))

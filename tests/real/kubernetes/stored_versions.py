"""Versions in which objects are stored, and the command that changes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from tests.real.kubernetes.subject import CRDS as FILES
from tests.real.kubernetes.webhooks import stored
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.controller import eventually
from treenail.adapters.kubernetes.resources import NODE_POOL, Resource

_CONVERT: Final = (Path(sys.executable).with_name("treenail"), "takeover", "convert")


def definition_of(resource: Resource) -> dict[str, Any]:
    """Return our definition of a kind."""
    group = resource.api_version.partition("/")[0]
    tree: dict[str, Any] = yaml.safe_load((FILES / f"{group}_{resource.plural}.yaml").read_text())
    return tree


def of_before(resource: Resource) -> dict[str, Any]:
    """Return the definition of a kind as it was when there was v1beta1 alone."""
    tree = definition_of(resource)
    spec = tree["spec"]
    del spec["conversion"]
    spec["versions"] = [{**v, "storage": True} for v in spec["versions"] if v["name"] == "v1beta1"]
    return tree


def pools_stored_in(plane: ControlPlane, version: str) -> int:
    """Return how many NodePools stand in etcd in a version."""
    return sum(o["apiVersion"] == f"karpenter.sh/{version}" for o in stored(plane, NODE_POOL).values())


def converted(plane: ControlPlane, to: str = "v1", *options: str) -> subprocess.CompletedProcess[str]:
    """Run `treenail takeover convert` to its end."""
    command = [*_command(plane, to), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)  # noqa: S603


def killed_after(plane: ControlPlane, enough: Callable[[int], bool], to: str = "v1") -> None:
    """Run `treenail takeover convert`, and end it by kill -9 when enough NodePools are written anew."""
    with subprocess.Popen(_command(plane, to), stdout=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            eventually(
                lambda: process.poll() is not None or enough(pools_stored_in(plane, to)),
                lambda: f"{pools_stored_in(plane, to)} are in {to}",
            )
        finally:
            process.kill()
    done = pools_stored_in(plane, to)
    assert enough(done), f"{done} are in {to}"


def _command(plane: ControlPlane, to: str) -> list[str | Path]:
    return [*_CONVERT, "--to", to, "--kubeconfig", plane.kubeconfig]

"""Walkthrough 003 as it reaches an EKS cluster, whose admission adds a request to every Windows pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

MANIFEST: Final = Path(__file__).parents[1] / "examples" / "003-windows.yaml"
ADDRESS: Final = "vpc.amazonaws.com/PrivateIPv4Address"
BUILDS: Final = {"windows2019": "10.0.17763", "windows2022": "10.0.20348"}
DEPLOYMENTS: Final = ("windows-server-iis-simple-2019", "windows-server-iis-simple-2022")


def objects(**provider: Any) -> list[dict[str, Any]]:
    """Return the walkthrough's objects; `provider` goes into the spec of its node templates."""
    made: list[dict[str, Any]] = list(yaml.safe_load_all(MANIFEST.read_text()))
    for thing in made:
        if thing["kind"] == "AWSNodeTemplate":
            thing["spec"].update(provider)
        if thing["kind"] == "Deployment":
            for container in thing["spec"]["template"]["spec"]["containers"]:
                container["resources"] = {"requests": {ADDRESS: 1}, "limits": {ADDRESS: 1}}
    return made

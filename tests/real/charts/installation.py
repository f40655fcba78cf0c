"""Both charts on a real API server, and the controller as their Deployment would run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import yaml

from tests.real.charts.rendering import CHART, CRD_CHART, NAMESPACE, Tree, environment
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.helm import Helm
from tests.real.parts.loopback import free_ports
from tests.real.system.controller import Controller

ACCOUNT: Final = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/treenail"
DEPLOYMENT: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/treenail"
_TOKEN_SECONDS: Final = 7200


class Installation:
    """The charts as releases `treenail-crd` and `treenail` in kube-system. `folder` is for its files."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._plane = plane
        self._folder = folder
        self._helm = Helm(folder, plane.kubeconfig)
        self._values = folder / "values.yaml"

    def install(self, values: Tree) -> str:
        """Install both charts, or upgrade them to `values`; return what Helm says at the end.

        Nothing runs their pods: the Deployment is given none, and `controller` is run in their place.
        """
        ports = dict(zip(("metrics", "healthProbe", "webhook"), free_ports(3), strict=True))
        given: Tree = {"image": {"repository": "example.test/treenail"}, **values.get("controller", {})}
        # There is no kube-proxy: no Service leads to this process.
        url = f"https://127.0.0.1:{ports['webhook']}"
        env = [
            {"name": "STATE_DIRECTORY", "value": str(self._folder / "state")},
            {"name": "WEBHOOK_URL", "value": url},
            *given.get("env", ()),
        ]
        own = {name: {"port": ports[name]} for name in ("metrics", "healthProbe")}
        made = {
            "controller": {**given, **own, "env": env},
            "webhook": {"port": ports["webhook"]},
            "replicas": 0,
        }
        self._values.write_text(yaml.safe_dump({**values, **made}))
        release = ("upgrade", "--install", "--namespace", NAMESPACE)
        self._helm(*release, "treenail-crd", CRD_CHART, "--set", f"webhook.url={url}/convert")
        return self._helm(*release, "treenail", CHART, "--values", self._values)

    def controller(self) -> Controller:
        """Return the controller with the Deployment's environment and arguments, and its account's token."""
        status, deployment = self._plane.request("GET", DEPLOYMENT)
        assert status == 200, deployment
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        assert container["args"] == ["controller"]
        return Controller({**environment(deployment), "KUBECONFIG": str(self._kubeconfig())})

    def uninstall(self) -> None:
        for release in ("treenail", "treenail-crd"):
            self._helm("uninstall", "--namespace", NAMESPACE, release)

    def _kubeconfig(self) -> Path:
        """Write how a pod of the Deployment reaches the API server."""
        config: dict[str, Any] = json.loads(self._plane.kubeconfig.read_text())
        config["users"] = [{"name": "real", "user": {"token": self._account_token()}}]
        file = self._folder / "kubeconfig"
        file.touch(mode=0o600)
        file.write_text(json.dumps(config))
        return file

    def _account_token(self) -> str:
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        wanted = {**asked, "spec": {"expirationSeconds": _TOKEN_SECONDS}}
        status, answer = self._plane.request("POST", f"{ACCOUNT}/token", wanted)
        assert status == 201, answer
        return str(answer["status"]["token"])

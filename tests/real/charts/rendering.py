"""The charts as Helm renders them, and the renderings that are kept, which `make charts` writes."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from tests.real.parts.helm import Helm

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[2]
CHART: Final = ROOT / "deploy" / "chart"
CRD_CHART: Final = ROOT / "deploy" / "chart-crd"
GOLDEN: Final = HERE / "golden"
NAMESPACE: Final = "kube-system"
VALUES: Final = {path.stem: path for path in sorted((HERE / "values").glob("*.yaml"))}
# By these the chart knows what the cluster serves.
SERVED: Final = "karpenter.sh/v1/NodePool,admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
Tree = dict[str, Any]


def render(helm: Helm, chart: Path, *words: str | Path, version: str = "1.34.4") -> str:
    """Return what a release `treenail` in kube-system would be made of, on Kubernetes of a version.

    Raises:
        HelmError: the chart refuses the values.
    """
    cluster = ("--kube-version", version, "--api-versions", SERVED)
    return helm("template", "treenail", chart, "--namespace", NAMESPACE, *cluster, *words)


def documents(text: str) -> list[Tree]:
    return [one for one in yaml.safe_load_all(text) if one]


def of_kind(things: list[Tree], kind: str, suffix: str = "") -> Tree:
    """Return the only object of a kind whose name ends so."""
    [found] = [t for t in things if t["kind"] == kind and t["metadata"]["name"].endswith(suffix)]
    return found


def golden(name: str) -> str:
    """Return the kept rendering of the values file `name`."""
    return (GOLDEN / f"{name}.yaml").read_text()


def environment(deployment: Tree, *, namespace: str = NAMESPACE) -> dict[str, str]:
    """Return the environment that a kubelet gives the controller; what a Secret holds is left out."""
    [container] = [c for c in deployment["spec"]["template"]["spec"]["containers"] if "args" in c]
    found = {}
    for variable in container["env"]:
        source = variable.get("valueFrom", {})
        if source == {"fieldRef": {"fieldPath": "metadata.namespace"}}:
            found[variable["name"]] = namespace
        elif not source:
            found[variable["name"]] = variable["value"]
    return found


def main() -> None:
    """Write the renderings that are kept."""
    with tempfile.TemporaryDirectory() as home:
        helm = Helm(Path(home))
        for name, values in VALUES.items():
            text = render(helm, CHART, "--values", values)
            (GOLDEN / f"{name}.yaml").write_text(re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))


if __name__ == "__main__":
    main()

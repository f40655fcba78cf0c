from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.adapters.cli.command import INFLATE, treenail
from tests.scenarios.manifests import Manifest, changed, deployment, need, node_class, node_pool, text

POOL, CLASS, WEB = node_pool(), node_class(), deployment()
TEMPLATE = "spec.template.spec"
CPU = f"{TEMPLATE}.containers.0.resources.requests.cpu"
MEMORY = f"{TEMPLATE}.containers.0.resources.requests.memory"


def provisioner(**spec: object) -> Manifest:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "old"},
        "spec": spec,
    }


INLINE = {"subnetSelector": {"a": "b"}, "securityGroupSelector": {"a": "b"}}
GADGET = {"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "x"}}
LOST_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "lost"},
    "spec": {"nodeName": "gone", "containers": [{"name": "app"}]},
}

# What is wrong: the file, and what the one line says after the file's name.
FILES = {
    "unknown operator": (
        text(changed(POOL, f"{TEMPLATE}.requirements.1.operator", "Within"), CLASS),
        'NodePool default: spec.template.spec.requirements[1].operator: "Within" is not one of',
    ),
    "no value for In": (
        text(changed(POOL, f"{TEMPLATE}.requirements.2.values", []), CLASS),
        "NodePool default: spec.template.spec.requirements[2].values: In needs at least one value",
    ),
    "Gt of no number": (
        text(
            changed(POOL, f"{TEMPLATE}.requirements", [need("example.com/n", "many", operator="Gt")]), CLASS
        ),
        "NodePool default: spec.template.spec.requirements[0].values: Gt needs exactly one whole number",
    ),
    "unknown label key": (
        text(changed(POOL, f"{TEMPLATE}.requirements.1.key", "karpenter.k8s.aws/instance-colour"), CLASS),
        'NodePool default: spec.template.spec.requirements[1].key: "karpenter.k8s.aws/instance-colour" is no',
    ),
    "restricted label": (
        text(changed(POOL, "spec.template.metadata.labels", {"kubernetes.io/hostname": "x"}), CLASS),
        "NodePool default: spec.template.metadata.labels[kubernetes.io/hostname]:",
    ),
    "negative limit": (
        text(changed(POOL, "spec.limits", {"cpu": "-4"}), CLASS),
        'NodePool default: spec.limits.cpu: "-4" must not be negative',
    ),
    "quantity that is none": (
        text(POOL, CLASS, changed(WEB, CPU, "lots")),
        'Deployment web: spec.template.spec.containers[0].resources.requests.cpu: "lots" is not a quantity',
    ),
    "absurdly many replicas": (
        text(POOL, CLASS, changed(WEB, "spec.replicas", 10**12)),
        "Deployment web: spec.replicas: 1000000000000 is absurdly many",
    ),
    "negative replicas": (
        text(POOL, CLASS, changed(WEB, "spec.replicas", -1)),
        "Deployment web: spec.replicas: -1 must not be negative",
    ),
    "text for a number": (
        text(changed(POOL, "spec.weight", "heavy"), CLASS),
        'NodePool default: spec.weight: expected a whole number, got text "heavy"',
    ),
    "text for a mapping": (
        text(changed(POOL, "spec.template", "x"), CLASS),
        "NodePool default: spec.template: expected a mapping",
    ),
    "weight out of range": (
        text(changed(POOL, "spec.weight", 101), CLASS),
        "NodePool default: spec.weight: 101 is not between 1 and 100",
    ),
    "duration that is none": (
        text(changed(POOL, "spec.disruption.consolidateAfter", "soon"), CLASS),
        'NodePool default: spec.disruption.consolidateAfter: "soon" is not a duration',
    ),
    "budget over 100 %": (
        text(changed(POOL, "spec.disruption.budgets", [{"nodes": "150%"}]), CLASS),
        'NodePool default: spec.disruption.budgets[0].nodes: "150%"',
    ),
    "taint effect": (
        text(changed(POOL, f"{TEMPLATE}.taints", [{"key": "a", "effect": "NoWay"}]), CLASS),
        'NodePool default: spec.template.spec.taints[0].effect: "NoWay" is not one of',
    ),
    "unknown field": (
        text(changed(POOL, "spec.wieght", 3), CLASS),
        "NodePool default: spec.wieght: is not a known field; did you mean weight?",
    ),
    "unknown kind": (text(POOL, CLASS, GADGET), 'Gadget x: kind: "Gadget" is not known'),
    "no name": (
        text(POOL, CLASS, changed(WEB, "metadata", {})),
        "Deployment (number 3): metadata.name: is missing",
    ),
    "missing node class": (
        text(POOL, WEB),
        "NodePool default: spec.template.spec.nodeClassRef: there is no EC2NodeClass default",
    ),
    "no selector": (
        text(POOL, changed(CLASS, "spec.subnetSelectorTerms", [])),
        "EC2NodeClass default: spec.subnetSelectorTerms: needs at least 1 item",
    ),
    "selector that matches nothing": (
        text(POOL, changed(CLASS, "spec.subnetSelectorTerms", [{"id": "subnet-0123456789abcdef0"}])),
        "EC2NodeClass default: spec.subnetSelectorTerms: its selector of subnets finds nothing",
    ),
    "provider and providerRef": (
        text(provisioner(provider=INLINE, providerRef={"name": "x"})),
        "Provisioner old: spec.providerRef: cannot stand beside spec.provider",
    ),
    "neither provider nor providerRef": (
        text(provisioner()),
        "Provisioner old: spec: needs providerRef, or provider",
    ),
    "negative TTL": (
        text(provisioner(provider=INLINE, ttlSecondsAfterEmpty=-3)),
        "Provisioner old: spec.ttlSecondsAfterEmpty: -3 must not be negative",
    ),
    "TTL beside consolidation": (
        text(provisioner(provider=INLINE, ttlSecondsAfterEmpty=30, consolidation={"enabled": True})),
        "Provisioner old: spec.ttlSecondsAfterEmpty: cannot stand beside spec.consolidation.enabled",
    ),
    "two of one name": (
        text(POOL, CLASS, POOL),
        "NodePool default: metadata.name: another of this name stands in",
    ),
    "pod on a node that is not there": (
        text(POOL, CLASS, LOST_POD),
        "Pod lost: spec.nodeName: there is no Node gone",
    ),
    "one bad item of a list": (
        text(POOL, CLASS, {"apiVersion": "v1", "kind": "List", "items": [changed(WEB, CPU, "?")]}),
        'Deployment web: spec.template.spec.containers[0].resources.requests.cpu: "?" is not a quantity',
    ),
    "not YAML": ("a: [1, 2\nb: }", "line 2: is not YAML"),
    "no object": ("hello", "an object with apiVersion and kind is expected"),
    "empty": ("", "is empty"),
    "only comments": ("# nothing\n---\n", "holds no object"),
    "nested without end": ("[" * 100_000, "line 1: is nested too deep"),
}

# Other things that are wrong: the arguments, and what the one line says.
ARGUMENTS = {
    "no command": (["reherase"], "No such command 'reherase'"),
    "no file": (["rehearse"], "Missing option '--file'"),
    "missing file": (["rehearse", "-f", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
    "a folder": (["rehearse", "-f", "/proc/self/fd"], "/proc/self/fd: is a folder without a file"),
    "unknown option": (["rehearse", "-f", INFLATE, "--fro", "10m"], "No such option"),
    "unknown output": (["rehearse", "-f", INFLATE, "-o", "xml"], "'xml' is not one of"),
    "seed that is none": (["rehearse", "-f", INFLATE, "--seed", "x"], "Invalid value for '--seed'"),
    "duration that is none": (["rehearse", "-f", INFLATE, "--for", "10x"], "--for '10x' is not a duration"),
    "negative duration": (["rehearse", "-f", INFLATE, "--for", "-5m"], "--for '-5m' is not a duration"),
    "half a year": (["rehearse", "-f", INFLATE, "--for", "4400h"], "--for '4400h' is not a duration"),
    "action without a time": (["rehearse", "-f", INFLATE, "--at", "5m"], "--at needs a time and an action"),
    "action after =": (["rehearse", "-f", INFLATE, "--at=5m"], "without the equals sign"),
    "bad time": (["rehearse", "-f", INFLATE, "--at", "noon", "scale=inflate:0"], "'noon' is not a time"),
    "negative time": (["rehearse", "-f", INFLATE, "--at", "-5m", "scale=inflate:0"], "'-5m' is not a time"),
    "time after the end": (
        ["rehearse", "-f", INFLATE, "--at", "1h", "scale=inflate:0"],
        "--at 3600s scale=inflate:0: comes after the end, at 600s",
    ),
    "unknown action": (["rehearse", "-f", INFLATE, "--at", "5m", "explode"], "unknown action 'explode'"),
    "action without argument": (
        ["rehearse", "-f", INFLATE, "--at", "5m", "scale"],
        "scale needs an argument",
    ),
    "bad scale": (["rehearse", "-f", INFLATE, "--at", "5m", "scale=inflate"], "write scale=NAME:REPLICAS"),
    "scale to no number": (["rehearse", "-f", INFLATE, "--at", "5s", "scale=inflate:²"], "write scale=NAME:"),
    "scale of nothing": (
        ["rehearse", "-f", INFLATE, "--at", "5s", "scale=deflate:3"],
        "--at 5s scale=deflate:3: Deployment default/deflate is not there",
    ),
    "bad delete": (["rehearse", "-f", INFLATE, "--at", "5s", "delete=inflate"], "write delete=KIND/NAME"),
    "delete of nothing": (
        ["rehearse", "-f", INFLATE, "--at", "5s", "delete=Deployment/x"],
        "--at 5s delete=Deployment/x: Deployment default/x is not there",
    ),
    "unknown node": (
        ["rehearse", "-f", INFLATE, "--at", "2m", "spot-interruption=ip-1"],
        "--at 120s spot-interruption=ip-1: there is no spot node ip-1",
    ),
    "no spot node yet": (
        ["rehearse", "-f", INFLATE, "--at", "1s", "spot-interruption"],
        "--at 1s spot-interruption: there is no spot node now",
    ),
    "loss of no zone": (
        ["rehearse", "-f", INFLATE, "--at", "5s", "zone-lost=mars"],
        "--at 5s zone-lost=mars: there is no zone mars: there are us-east-1a",
    ),
    "bad ice": (["rehearse", "-f", INFLATE, "--at", "5s", "ice=m5.large"], "write ice=TYPE/ZONE"),
    "ice of an unknown type": (
        ["rehearse", "-f", INFLATE, "--at", "5s", "ice=m5.vast/*"],
        "--at 5s ice=m5.vast/*: there is no instance type m5.vast",
    ),
    "ice of an unknown zone": (
        ["rehearse", "-f", INFLATE, "--at", "5s", "ice=*/mars"],
        "--at 5s ice=*/mars: there is no zone mars",
    ),
    **{
        f"pods a second: {written}": (
            ["rehearse", "-f", INFLATE, f"--pod-writes={written}"],
            f"--pod-writes {written!r} is not a number of pods a second from 1 to 100,000, such as 20",
        )
        for written in ("nan", "inf", "0", "-3", "many")
    },
    "bad api-away": (["rehearse", "-f", INFLATE, "--at", "5s", "api-away=long"], "write api-away=DURATION"),
    "bad crash": (["rehearse", "-f", INFLATE, "--at", "5s", "crash=-3s"], "write crash=DURATION"),
    "apply of a missing file": (
        ["rehearse", "-f", INFLATE, "--at", "5s", "apply=nowhere.yaml"],
        "nowhere.yaml: there is no such file",
    ),
    "missing catalogue": (
        ["simulate", "-f", INFLATE, "--instance-types", "nowhere.json"],
        "nowhere.json: catalogue: No such file",
    ),
    "catalogue that is none": (
        ["simulate", "-f", INFLATE, "--instance-types", INFLATE],
        "001-inflate.yaml: catalogue: is no catalogue of instance types",
    ),
    "no repeats": (["simulate", "-f", INFLATE, "--repeat", "0"], "--repeat 0 is not between 1 and 1000"),
    "unknown packing": (["simulate", "-f", INFLATE, "--packing", "tight"], "'tight' is not one of"),
    "unknown family": (["catalogue", "--family", "m55"], "there is no instance family 'm55'"),
    "absurd volume": (["catalogue", "--root-volume", "1Ei"], "is not from 1Gi to 64Ti"),
}


def complaint(*arguments: str) -> str:
    """Return the one line that a command says about bad input."""
    ran = treenail(*arguments)
    assert ran.code == 2, ran
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("treenail: ")
    assert ran.err.endswith("\n")
    return ran.err.removeprefix("treenail: ")


@pytest.mark.parametrize("command", ["rehearse", "simulate"])
@pytest.mark.parametrize("wrong", FILES)
def test_what_is_wrong_with_a_file_is_said_in_one_line(wrong: str, command: str, tmp_path: Path) -> None:
    content, problem = FILES[wrong]
    file = tmp_path / "given.yaml"
    file.write_text(content)

    assert complaint(command, "-f", str(file)).startswith(f"{file}: {problem}")


@pytest.mark.parametrize("wrong", ARGUMENTS)
def test_what_is_wrong_with_the_arguments_is_said_in_one_line(wrong: str) -> None:
    arguments, problem = ARGUMENTS[wrong]

    assert problem in complaint(*arguments)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_text("secret")
    file.chmod(0)

    assert complaint("simulate", "-f", str(file)) == f"{file}: cannot be read: permission denied\n"


def test_a_file_that_is_no_text_is_said_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_bytes(b"\xff\xfe\x00\x80abc")

    assert complaint("simulate", "-f", str(file)) == f"{file}: line 1: is not UTF-8 text\n"


def test_of_two_files_the_one_with_the_mistake_is_named(tmp_path: Path) -> None:
    file = tmp_path / "second.yaml"
    file.write_text(text(changed(WEB, "spec.replicas", -1)))

    line = complaint("rehearse", "-f", INFLATE, "-f", str(file))

    assert line == f"{file}: Deployment web: spec.replicas: -1 must not be negative\n"


@pytest.mark.parametrize(
    ("arguments", "given", "problem"),
    [
        (["rehearse", "-f", "-"], b"a: [", b"treenail: stdin: line 2: is not YAML"),
        (["simulate", "-f", "nowhere.yaml"], b"", b"treenail: nowhere.yaml: there is no such file\n"),
    ],
)
def test_a_process_of_its_own_ends_with_2_and_one_line(
    arguments: list[str], given: bytes, problem: bytes
) -> None:
    root = Path(INFLATE).parent.parent
    code = "from treenail.adapters.cli.main import main; main()"

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code, *arguments],
        input=given,
        env={**os.environ, "PYTHONPATH": str(root / ".dev")},
        check=False,
        capture_output=True,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(problem)
    assert done.stderr.count(b"\n") == 1

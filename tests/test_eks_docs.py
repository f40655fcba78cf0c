"""The page on EKS: its pool is one that works, and its commands are ones that AWS's client takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import botocore.session
import pytest
import yaml
from botocore import xform_name

from tests.adapters.cli.command import treenail
from tests.cloudformation import template

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
# What the client of AWS has beside the options of an API call, and commands of its own.
GLOBAL = {"query", "output", "region", "profile"}
DEPLOY = {"stack_name", "template_file", "capabilities", "parameter_overrides"}


def commands(page: Path, program: str) -> list[list[str]]:
    """Return the commands of a page that call a program, as words."""
    shown = "\n".join(re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)).replace("\\\n", " ")
    found = (shlex.split(line, comments=True) for line in shown.splitlines())
    return [words for words in found if words[:1] == [program]]


AWS = [(page.name, words) for page in PAGES for words in commands(page, "aws")]


@pytest.mark.parametrize(
    ("page", "words"), AWS, ids=[f"{at}: {page}: {' '.join(w[1:3])}" for at, (page, w) in enumerate(AWS)]
)
def test_commands_of_aws_in_the_docs_have_options_that_their_call_has(page: str, words: list[str]) -> None:
    service, operation = words[1:3]
    options = {word.removeprefix("--").replace("-", "_") for word in words[3:] if word.startswith("--")}
    if (service, operation) == ("cloudformation", "deploy"):
        known = DEPLOY
    else:
        model = botocore.session.get_session().get_service_model(service)
        calls = {xform_name(name): name for name in model.operation_names}
        call = model.operation_model(calls[operation.replace("-", "_")])
        assert call.input_shape is not None, page
        known = {xform_name(name) for name in call.input_shape.members}

    assert options <= known | GLOBAL


def test_the_stack_has_the_parameters_that_the_docs_set() -> None:
    deploys = [words for _, words in AWS if words[1:3] == ["cloudformation", "deploy"]]
    given = {
        word.partition("=")[0]
        for words in deploys
        for word in words[words.index("--parameter-overrides") + 1 :]
        if "=" in word
    }

    assert "ClusterName" in given
    assert given <= set(template()["Parameters"])


def test_the_first_pool_buys_nodes_for_the_pods_that_the_page_creates(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "eks.md").read_text(), re.DOTALL)
    inflate = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "inflate", "namespace": "default"},
        "spec": {
            "replicas": 5,
            "selector": {"matchLabels": {"app": "inflate"}},
            "template": {
                "metadata": {"labels": {"app": "inflate"}},
                "spec": {"containers": [{"name": "pause", "resources": {"requests": {"cpu": "1"}}}]},
            },
        },
    }
    manifests = tmp_path / "pool.yaml"
    manifests.write_text(shown + "---\n" + yaml.safe_dump(inflate))

    ran = treenail("simulate", "-f", str(manifests), "-o", "json")

    assert ran.code == 0, ran.err
    decided = yaml.safe_load(ran.out)
    assert decided["unschedulable"] == {}
    assert sum(len(claim["pods"]) for claim in decided["nodeClaims"]) == 5

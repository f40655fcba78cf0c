from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.adapters.cli.command import treenail
from tests.adapters.cli.convert.cases import (
    ANOTHER_KIND,
    EVERY_FIELD,
    FROM_KUBECTL,
    PROVIDER_WITHIN,
    template,
)
from tests.adapters.cli.convert.converting import BETA, convert, made

COMMENTED = """\
# Of the whole team.
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner  # the old kind
metadata:
  name: default
spec:
  # Only these.
  requirements:
    - key: "karpenter.sh/capacity-type"  # or on-demand is meant
      operator: In
      values: ["spot", "on-demand"]
    # And what a is.
    - key: a
      operator: Exists
  kubeletConfiguration:  # settings
    containerRuntime: containerd  # goes
    maxPods: 20  # twenty
  ttlSecondsUntilExpired: 2592000  # 30 days
  limits:
    resources:
      cpu: "1000"
  provider:
    # Where they are.
    subnetSelector:
      karpenter.sh/discovery: demo  # the tag
    securityGroupSelector: {karpenter.sh/discovery: demo}
    tags: {a: 'b'}
# The end.
"""


def test_comments_go_where_their_fields_go_and_the_way_of_writing_stays(file: Path) -> None:
    pool, node_class = convert(file, COMMENTED).out.split("---\n")

    for line in (
        "# Of the whole team.\napiVersion: karpenter.sh/v1\n",
        "\nkind: NodePool  # the old kind\n",
        '\n      # Only these.\n      requirements:\n        - key: "karpenter.sh/capacity-type"  # or ',
        '\n          values: ["spot", "on-demand"]\n        # And what a is.\n        - key: a\n',
        "\n      expireAfter: 720h  # 30 days\n",
        '\n    cpu: "1000"\n',
    ):
        assert line in pool
    for line in (
        "\n  # Where they are.\n  subnetSelectorTerms:  # the tag\n",
        "\n  tags: {a: 'b'}\n",
        "\n  kubelet:  # settings  # goes\n    maxPods: 20  # twenty\n",
        "\n# The end.\n",
    ):
        assert line in node_class


@pytest.mark.parametrize("to", ["v1beta1", "v1"])
@pytest.mark.parametrize(
    "text",
    [
        EVERY_FIELD,
        FROM_KUBECTL,
        PROVIDER_WITHIN,
        f"{EVERY_FIELD}---{PROVIDER_WITHIN}",
        Path(BETA).read_text(),
    ],
)
def test_no_comment_is_lost_or_doubled_wherever_it_stands(file: Path, text: str, to: str) -> None:
    text = text.replace("name: default", "name: other", text.count("kind: Provisioner") - 1)
    lines = [line for line in text.splitlines() if line and not line.startswith(("---", "#"))]
    commented = "".join(
        line + "\n" if line == "---" else f"#a{n}.\n{line}  #b{n}.\n"
        for n, line in enumerate(text.splitlines())
        if line in lines or line == "---"
    )

    ran = convert(file, commented + "#end.\n", "--to", to)

    assert list(yaml.safe_load_all(ran.out)) == made(file, "\n".join(text.splitlines()) + "\n", to)
    mark = re.compile(r"#(?:[ab]\d+|end)\.")
    assert sorted(mark.findall(ran.out)) == sorted([*mark.findall(commented), "#end."])


def test_other_kinds_and_what_is_in_the_version_already_stay_as_they_are_written(file: Path) -> None:
    others = f"{ANOTHER_KIND.lstrip()}---\n# only a comment\n"
    there = treenail("convert", "-f", BETA).out

    assert convert(file, others + "---" + template()).out.startswith(others)
    assert convert(file, there).out == there
    assert convert(file, ANOTHER_KIND).out == ANOTHER_KIND.lstrip()


ODD = {
    "anchors": "  tags: &tags {a: b}  # one\n  context: &c x\n",
    "a key merged in": "  tags:\n    <<: {q: r}  # one\n    z: y\n",
    "text over lines": '  context: "a\n    b"  # one\n',
    "folded text": "  userData: >-  # one\n    a\n    b\n\n    c\n",
    "text that ends in empty lines": "  userData: |+\n    a\n\n\n# one\n",
    "braces over lines": "  tags: {a: b,  # one\n    c: d\n    }\n",
    "text like numbers": '  tags: {a: "012", b: "yes", c: "80:80", d: "2001-01-01", e: "~"}  # one\n',
    "a line separator in text": '  tags: {a: "x\u2028y"}  # one\n',
    "a hash in text": '  userData: "#!/bin/bash # two"  # one\n',
}


@pytest.mark.parametrize("case", sorted(ODD))
def test_yaml_of_every_kind_says_the_same_and_keeps_its_comment(file: Path, case: str) -> None:
    own = "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec:\n"
    own += "  amiFamily: Bottlerocket\n  role: node\n  subnetSelectorTerms: [{id: subnet-1}]\n"
    own += f"  securityGroupSelectorTerms: [{{id: sg-1}}]\n{ODD[case]}"

    out = convert(file, own).out

    before, after = yaml.safe_load(own)["spec"], yaml.safe_load(out)["spec"]
    for key in ("tags", "context", "userData"):
        assert after.get(key) == before.get(key)
    assert out.count("# one") == 1
    assert convert(file, out).out == out


def test_comments_of_a_list_stand_above_what_it_is_taken_apart_into(file: Path) -> None:
    items = "".join(f"- {one.strip()}\n".replace("\n", "\n  ")[:-2] for one in (template(), PROVIDER_WITHIN))
    items = items.replace("name: default", "name: other", 1)

    out = convert(file, f"apiVersion: v1\nkind: List  # one\nitems:\n# two\n{items}").out

    assert out.startswith("# one\n# two\napiVersion: karpenter.k8s.aws/v1\n")
    assert out.count("#") == 2

from __future__ import annotations

from collections import Counter

import pytest

from tests.adapters.api.builders import problem_of
from tests.adapters.api.karpenter_examples import EXAMPLES, Example


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_of_karpenter_is_read_or_refused_as_there(example: Example) -> None:
    said = problem_of(example.tree, node_classes_optional=True)

    assert f": {example.refused}: " in said if example.refused else said == "nothing"


def test_the_examples_are_those_of_every_generation() -> None:
    objects = Counter(tag for one in EXAMPLES for tag in one.at)
    refused = Counter(tag for one in EXAMPLES for tag in one.at if one.refused)

    assert objects == {"v0.31.5": 44, "v0.32.10": 79, "v0.37.7": 55, "v1.0.14": 55, "v1.14.1": 57}
    assert refused == {"v0.31.5": 2, "v0.32.10": 2, "v1.0.14": 6, "v1.14.1": 5}

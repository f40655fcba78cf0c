from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.real.dashboards import Series, queries, verdict

A: Series = {(("nodepool", "a"),): 10.0}


def test_queries_of_all_panels_are_read_with_values_for_variables(tmp_path: Path) -> None:
    inner = {"targets": [{"expr": 'sum by ($distribution_filter)(\n x{pool=~"$pool"}) # said'}]}
    panels = [{"panels": [inner, inner]}, {"targets": [{"expr": "rate(y[$__rate_interval])"}, {}]}]
    (tmp_path / "one.json").write_text(json.dumps({"panels": panels}))

    assert queries([tmp_path / "one.json"]) == [
        'sum by (nodepool)( x{pool=~".*"})',
        "rate(y[10m])",
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        (A, {(("nodepool", "a"),): 10.5}, "the same"),
        (A, {(("nodepool", "a"),): 20.0}, "same labels, other values"),
        (A, {(("nodepool", "b"),): 10.0}, "other labels"),
        (A, A | {(("nodepool", "b"),): 10.0}, "some labels the same"),
        (A, {}, "ours alone"),
        ({}, A, "theirs alone"),
        ({}, {}, "both nothing"),
    ],
)
def test_answers_are_compared_by_labels_and_then_by_values(ours: Series, theirs: Series, word: str) -> None:
    assert verdict(ours, theirs) == word

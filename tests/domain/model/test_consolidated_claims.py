"""What a claim says that it was bought for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, at, claim
from treenail.domain.model import labels
from treenail.domain.model.consolidated_claims import (
    Origin,
    Shape,
    read_origins,
    shape_of,
    write_origins,
)
from treenail.domain.model.nodes import NodeClaim

LARGE = Shape("default", "m5.large", "us-east-1a", "on-demand")
SPOT = Shape("cheap", "c5.xlarge", "us-east-1b", "spot")


def saying(text: str) -> NodeClaim:
    return claim("c1", annotations={labels.CONSOLIDATED: text})


def test_the_annotation_tells_saving_time_and_shapes() -> None:
    own = Origin(saving=0.05, at=at(90), replaced=(SPOT, LARGE))
    earlier = Origin(saving=0.1, at=START, replaced=(LARGE,))

    assert write_origins((own, earlier)) == {
        "treenail.sh/consolidated": (
            "0.050000/2026-01-01T00:01:30Z/cheap,c5.xlarge,us-east-1b,spot;"
            "default,m5.large,us-east-1a,on-demand "
            "0.100000/2026-01-01T00:00:00Z/default,m5.large,us-east-1a,on-demand"
        )
    }


def test_a_claim_bought_for_nothing_in_particular_says_nothing() -> None:
    assert write_origins(()) == {}
    assert read_origins(claim("c1")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0.05",
        "much/2026-01-01T00:00:00Z/default,m5.large,a,spot",
        "-1/2026-01-01T00:00:00Z/default,m5.large,a,spot",
        "nan/2026-01-01T00:00:00Z/default,m5.large,a,spot",
        "inf/2026-01-01T00:00:00Z/default,m5.large,a,spot",
        "0.05/yesterday/default,m5.large,a,spot",
        "0.05/2026-01-01T00:00:00/default,m5.large,a,spot",
        "0.05/2026-01-01T00:00:00Z/",
        "0.05/2026-01-01T00:00:00Z/m5.large,a,spot",
        "0.05/2026-01-01T00:00:00Z/default,m5.large,a,spot;",
        "0.05/2026-01-01T00:00:00Z/default,m5.large,a,spot,more",
        "0.05/2026-01-01T00:00:00Z/default,m5.large,a,spot ",
        "0.05/2026-01-01T00:00:00Z/default,m5.large,a,spot nonsense",
    ],
)
def test_what_somebody_else_wrote_is_unreadable(text: str) -> None:
    assert read_origins(saying(text)) is None


@given(st.text())
def test_any_text_is_read_or_not_and_never_an_error(text: str) -> None:
    read = read_origins(saying(text))

    assert read is None or len(read) == text.count(" ") + 1


def test_the_shape_of_a_node_is_what_its_claim_is_labelled() -> None:
    labelled = {
        labels.INSTANCE_TYPE: "m5.large",
        labels.ZONE: "us-east-1a",
        labels.CAPACITY_TYPE: "on-demand",
    }
    launched = NodeClaim(
        name="c1", pool="default", node_class=claim("c1").node_class, created_at=START, labels=labelled
    )

    assert shape_of(launched) == LARGE
    assert str(LARGE) == "m5.large us-east-1a on-demand"
    assert shape_of(claim("c1")) == Shape("default", "", "", "")


words = st.sampled_from(("", "default", "m5.large", "us-east-1a", "on-demand", "a.b-c"))
shapes = st.builds(Shape, words, words, words, words)
origins = st.builds(
    Origin,
    saving=st.integers(0, 10**9).map(lambda millionths: millionths / 10**6),
    at=st.integers(-(10**8), 10**8).map(lambda seconds: START + timedelta(seconds=seconds)),
    replaced=st.lists(shapes, min_size=1, max_size=4).map(tuple),
)


@given(st.lists(origins, max_size=4).map(tuple))
def test_what_was_written_is_read_back(some: tuple[Origin, ...]) -> None:
    assert read_origins(claim("c1", annotations=write_origins(some))) == some

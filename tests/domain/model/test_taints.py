from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.taints import (
    DISRUPTED,
    EPHEMERAL,
    Effect,
    Taint,
    Toleration,
    TolerationOperator,
    is_ephemeral,
    untolerated,
)

GPU = Taint("gpu", Effect.NO_SCHEDULE, "a100")
LEVEL = Taint("level", Effect.NO_EXECUTE, "5")


@pytest.mark.parametrize(
    ("toleration", "taint", "covers"),
    [
        (Toleration("gpu", value="a100"), GPU, True),
        (Toleration("gpu", value="a100", effect=Effect.NO_SCHEDULE), GPU, True),
        (Toleration("gpu", value="a100", effect=Effect.NO_EXECUTE), GPU, False),
        (Toleration("gpu", value="h100"), GPU, False),
        (Toleration("gpu"), GPU, False),
        (Toleration("gpu"), Taint("gpu", Effect.NO_SCHEDULE), True),
        (Toleration("other", value="a100"), GPU, False),
        (Toleration("gpu", TolerationOperator.EXISTS), GPU, True),
        (Toleration("gpu", TolerationOperator.EXISTS, effect=Effect.PREFER_NO_SCHEDULE), GPU, False),
        (Toleration("other", TolerationOperator.EXISTS), GPU, False),
        (Toleration(operator=TolerationOperator.EXISTS), GPU, True),
        (Toleration(operator=TolerationOperator.EXISTS, effect=Effect.NO_EXECUTE), GPU, False),
        (Toleration("gpu", value="a100", seconds=30), GPU, True),
        (Toleration("level", TolerationOperator.GT, "4"), LEVEL, True),
        (Toleration("level", TolerationOperator.GT, "5"), LEVEL, False),
        (Toleration("level", TolerationOperator.LT, "6"), LEVEL, True),
        (Toleration("level", TolerationOperator.LT, "5"), LEVEL, False),
        (Toleration("level", TolerationOperator.GT, "-1"), LEVEL, True),
        (Toleration("level", TolerationOperator.GT, "many"), LEVEL, False),
        (Toleration("level", TolerationOperator.LT, "9" * 30), LEVEL, False),
        (Toleration("gpu", TolerationOperator.GT, "4"), GPU, False),
    ],
)
def test_a_toleration_covers(toleration: Toleration, taint: Taint, *, covers: bool) -> None:
    assert toleration.tolerates(taint) == covers


def test_the_first_taint_that_no_toleration_covers_is_returned() -> None:
    taints = (LEVEL, GPU, Taint("a", Effect.PREFER_NO_SCHEDULE))

    assert untolerated(taints, ()) == Taint("a", Effect.PREFER_NO_SCHEDULE)
    assert untolerated(taints, [Toleration("a"), Toleration("level", value="5")]) == GPU
    assert untolerated((), ()) is None


TAINTS = st.builds(Taint, st.sampled_from("abc"), st.sampled_from(Effect), st.sampled_from(["", "1", "2"]))
TOLERATIONS = st.builds(
    Toleration,
    st.sampled_from(["", "a", "b", "c"]),
    st.sampled_from(TolerationOperator),
    st.sampled_from(["", "1", "2"]),
    st.sampled_from([None, *Effect]),
)


@given(taints=st.lists(TAINTS, max_size=5), tolerations=st.lists(TOLERATIONS, max_size=5))
def test_all_is_tolerated_where_every_taint_is(taints: list[Taint], tolerations: list[Toleration]) -> None:
    found = untolerated(taints, iter(tolerations))

    left = [taint for taint in taints if not any(t.tolerates(taint) for t in tolerations)]
    assert found == min(left, default=None)


@given(taints=st.lists(TAINTS, max_size=5))
def test_one_toleration_covers_everything(taints: list[Taint]) -> None:
    assert untolerated(taints, [Toleration(operator=TolerationOperator.EXISTS)]) is None


@pytest.mark.parametrize(
    ("taint", "goes"),
    [
        *((taint, True) for taint in sorted(EPHEMERAL)),
        (Taint("node.cloudprovider.kubernetes.io/uninitialized", Effect.NO_SCHEDULE), True),
        (Taint("node.kubernetes.io/not-ready", Effect.PREFER_NO_SCHEDULE), False),
        (Taint("node.kubernetes.io/unreachable", Effect.NO_EXECUTE), False),
        (Taint("readiness.k8s.io/network", Effect.NO_SCHEDULE, "pending"), True),
        (DISRUPTED, False),
        (GPU, False),
    ],
)
def test_a_taint_of_a_starting_node_goes_by_itself(taint: Taint, *, goes: bool) -> None:
    assert is_ephemeral(taint) == goes


def test_key_and_effect_name_a_taint() -> None:
    assert GPU.same_mark(Taint("gpu", Effect.NO_SCHEDULE, "h100"))
    assert not GPU.same_mark(Taint("gpu", Effect.NO_EXECUTE, "a100"))
    assert not GPU.same_mark(Taint("tpu", Effect.NO_SCHEDULE, "a100"))


@pytest.mark.parametrize(
    ("taint", "text"), [(GPU, "gpu=a100:NoSchedule"), (DISRUPTED, "karpenter.sh/disrupted:NoSchedule")]
)
def test_a_taint_is_written_as_kubectl_writes_it(taint: Taint, text: str) -> None:
    assert str(taint) == text

"""Whether pods were refused that could have been placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.fuzz.check.decision import Decision
from tests.fuzz.check.elsewhere import Elsewhere
from tests.fuzz.check.faults import Fault, Kind
from tests.fuzz.check.pods import Pod, Shape


def check_refusals(decision: Decision, elsewhere: Elsewhere) -> Iterator[Fault]:
    """One fault for all pods of a shape; those with volumes are looked at one by one."""
    alike: defaultdict[tuple[Shape, str], list[Pod]] = defaultdict(list)
    for name in decision.refused:
        pod = decision.scenario.pending[name]
        alike[pod.shape, name if pod.shape.volumes else ""].append(pod)
    for pods in alike.values():
        where = elsewhere.anywhere(pods[0])
        if where is not None:
            others = f" (and {len(pods) - 1} alike)" if len(pods) > 1 else ""
            yield Fault(Kind.REFUSED, pods[0].name, f"would fit onto {where}{others}")

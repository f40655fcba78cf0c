"""What becomes of the pods of a node that goes, case by case, where the eviction API is a real one.

The cases are those of the table that runs on the fake API server (tests/actors/test_drain_table.py), as far
as a real one is asked, with shorter times, and some that only a real one knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

PROTECTED: Final = {"karpenter.sh/do-not-disrupt": "true"}
CRITICAL: Final = "system-cluster-critical"
NODE_CRITICAL: Final = "system-node-critical"
# Pools by what is particular to them.
PLAIN: Final = "plain"
ROOMY: Final = "roomy"
GRACE_20: Final = "grace-20"
GRACE_5: Final = "grace-5"
GRACE_0: Final = "grace-0"
# How many seconds a claim's pods have, by pool. ROOMY alone can buy more nodes while others go.
POOLS: Final = {PLAIN: None, ROOMY: None, GRACE_20: 20, GRACE_5: 5, GRACE_0: 0}


class By(StrEnum):
    """What has a node go: a deletion, or what EC2 announces."""

    CLAIM = "claim"
    NODE = "node"
    WARNING = "warning"
    STOPPING = "stopping"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call about a pod (`evict`, `delete` with so many seconds of grace), or a claim (`free`), and when."""

    at: float
    verb: str
    pod: str = ""
    grace: int | None = None

    @classmethod
    def parse(cls, at: float, text: str) -> Call:
        """Read `VERB [POD [GRACE]]`."""
        verb, pod, grace = (*text.split(), "", "")[:3]
        return cls(at=at, verb=verb, pod=pod, grace=int(grace) if grace else None)

    @property
    def about(self) -> tuple[str, str]:
        """What is done to whom."""
        return self.verb, self.pod


@dataclass(frozen=True, kw_only=True)
class Given:
    """A pod, less what all have. `slow` ones need all of their `grace` seconds to stop."""

    grace: int = 2
    slow: bool = False
    owner: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    priority: str = ""
    tolerant: bool = False
    volume: bool = False
    phase: str = ""
    ready: bool = True


WEB: Final = Given(labels={"app": "web"})
SAFE: Final = Given(annotations=PROTECTED)
SAFE_FOR_5: Final = Given(annotations=PROTECTED, grace=5)
WEB_FOR_5: Final = Given(labels={"app": "web"}, grace=5)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Pods by name, how their node begins to go, and what they get: calls, by the second none comes before.

    `notice` is in how many seconds EC2 ends the machine. `budgets` are the specs of budgets for the pods with
    label app=web; at `freed` seconds they allow everything; at `detached` seconds volumes are. `gone` is the
    second before which the claim is not let go, None where it is still there in the end, with those pods
    `left` that are. With `in_turns` the calls come in the order they are given in.
    """

    pods: dict[str, Given]
    by: By = By.CLAIM
    pool: str = PLAIN
    notice: float = 120
    budgets: tuple[dict[str, Any], ...] = ()
    freed: float | None = None
    detached: float | None = None
    calls: tuple[tuple[float, str], ...] = ()
    in_turns: bool = False
    gone: float | None = 0
    left: tuple[str, ...] = ()

    @property
    def due(self) -> list[Call]:
        """What is to be called; the times are those before which it is not."""
        return [Call.parse(at, text) for at, text in self.calls]


# For pods without an owner there is nothing that could be counted from above.
NONE_MAY_GO: Final = ({"minAvailable": 1},)
ONE_MAY_GO: Final = ({"minAvailable": 0},)
EVICTED: Final = ((0.0, "evict p"),)

CASES: Final = {
    # whoever deletes what
    "kubectl delete nodeclaim": Case(pods={"p": Given()}, calls=EVICTED),
    "kubectl delete node": Case(pods={"p": Given()}, by=By.NODE, calls=EVICTED),
    "a node without pods": Case(pods={}),
    # order
    "plain pods, daemons, critical pods, critical daemons": Case(
        pods={
            "cd": Given(owner="DaemonSet", priority=NODE_CRITICAL),
            "c": Given(priority=CRITICAL),
            "d": Given(owner="DaemonSet"),
            "p": Given(),
        },
        calls=((0, "evict p"), (0, "evict d"), (0, "evict c"), (0, "evict cd")),
        in_turns=True,
    ),
    "critical pods wait for one that stops slowly": Case(
        pods={"c": Given(priority=CRITICAL), "p": Given(grace=8, slow=True)},
        calls=((0, "evict p"), (8, "evict c")),
        in_turns=True,
        gone=8,
    ),
    # who is not waited for
    "a static pod is let alone": Case(pods={"s": Given(owner="Node")}),
    "a daemon that tolerates the taint is let alone": Case(
        pods={"d": Given(owner="DaemonSet", tolerant=True)}
    ),
    "any pod that tolerates it is let alone": Case(pods={"t": Given(tolerant=True)}),
    "a pod that is over is let alone": Case(pods={"done": Given(phase="Succeeded")}),
    "a pod that failed is let alone": Case(pods={"bad": Given(phase="Failed")}),
    # SIGTERM
    "a pod that ignores SIGTERM is waited for until it is killed": Case(
        pods={"p": Given(grace=9, slow=True)}, calls=EVICTED, gone=9
    ),
    "a pod without a grace period goes at once": Case(pods={"p": Given(grace=0)}, calls=EVICTED),
    # budgets
    "a budget that allows it": Case(pods={"p": WEB}, budgets=ONE_MAY_GO, calls=EVICTED),
    "a budget that allows none holds for ever": Case(
        pods={"p": WEB}, budgets=NONE_MAY_GO, calls=EVICTED, gone=None, left=("p",)
    ),
    "until it allows it": Case(pods={"p": WEB}, budgets=NONE_MAY_GO, freed=7, calls=EVICTED, gone=7),
    "a budget of others holds nobody": Case(pods={"p": Given()}, budgets=NONE_MAY_GO, calls=EVICTED),
    "two budgets on a pod hold it, whatever they allow": Case(
        pods={"p": WEB},
        budgets=(*ONE_MAY_GO, *ONE_MAY_GO),
        calls=EVICTED,
        gone=None,
        left=("p",),
    ),
    "a budget can let pods go that are not ready": Case(
        pods={"p": Given(labels={"app": "web"}, ready=False)},
        budgets=({"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"},),
        calls=EVICTED,
    ),
    "a budget that wants all holds all": Case(
        pods={"p": WEB, "q": WEB},
        budgets=({"minAvailable": 2},),
        calls=((0, "evict p"), (0, "evict q")),
        gone=None,
        left=("p", "q"),
    ),
    # do not disrupt
    "do-not-disrupt holds for ever": Case(pods={"p": SAFE}, gone=None, left=("p",)),
    "so does do-not-evict of the old API": Case(
        pods={"p": Given(annotations={"karpenter.sh/do-not-evict": "true"})}, gone=None, left=("p",)
    ),
    "with another value it does not": Case(
        pods={"p": Given(annotations={"karpenter.sh/do-not-disrupt": "false"})}, calls=EVICTED
    ),
    "a protected pod does not hold up others of its turn": Case(
        pods={"p": SAFE, "q": Given()}, calls=((0, "evict q"),), gone=None, left=("p",)
    ),
    "nor does one stop those whose turn is later from staying": Case(
        pods={"p": SAFE, "c": Given(priority=CRITICAL)}, gone=None, left=("c", "p")
    ),
    # terminationGracePeriod
    "a grace period of the claim ends what do-not-disrupt holds": Case(
        pods={"p": SAFE_FOR_5}, pool=GRACE_20, calls=((15, "delete p 5"),), gone=15
    ),
    "and what a budget holds": Case(
        pods={"p": WEB_FOR_5},
        pool=GRACE_20,
        budgets=NONE_MAY_GO,
        calls=((0, "evict p"), (15, "delete p 5")),
        gone=15,
    ),
    "and what two budgets hold": Case(
        pods={"p": WEB_FOR_5},
        pool=GRACE_20,
        budgets=(*ONE_MAY_GO, *ONE_MAY_GO),
        calls=((0, "evict p"), (15, "delete p 5")),
        gone=15,
    ),
    "each pod in time for its own grace period": Case(
        pods={"p": Given(annotations=PROTECTED, grace=12), "q": Given(annotations=PROTECTED, grace=3)},
        pool=GRACE_20,
        calls=((8, "delete p 12"), (17, "delete q 3")),
        in_turns=True,
        gone=17,
    ),
    "of any turn": Case(
        pods={"p": SAFE_FOR_5, "c": Given(priority=CRITICAL, grace=5)},
        pool=GRACE_20,
        calls=((15, "delete c 5"), (15, "delete p 5")),
        gone=15,
    ),
    "one shorter than the pod's leaves it what there is": Case(
        pods={"p": Given(grace=60)}, pool=GRACE_5, calls=((0, "delete p 5"),)
    ),
    "a grace period of nothing deletes at once": Case(
        pods={"p": SAFE}, pool=GRACE_0, calls=((0, "delete p 1"),)
    ),
    "kubectl delete node keeps to it too": Case(
        pods={"p": SAFE_FOR_5}, by=By.NODE, pool=GRACE_20, calls=((15, "delete p 5"),), gone=15
    ),
    # volumes
    "volumes are given back before the machine goes": Case(
        pods={"p": Given(volume=True)}, detached=10, calls=EVICTED, gone=10
    ),
    "a claim's grace period ends the wait for them": Case(
        pods={"p": Given(volume=True)}, pool=GRACE_20, calls=EVICTED, gone=20
    ),
    # notices
    "pods of an interrupted instance leave when their place is ready": Case(
        pods={"p": Given(owner="Deployment")}, by=By.WARNING, pool=ROOMY, calls=((5, "evict p"),), gone=5
    ),
    "or are deleted at the last call": Case(
        pods={"p": Given(grace=5)}, by=By.WARNING, notice=25, calls=((10, "delete p 5"),), gone=10
    ),
    "a budget holds until the last call": Case(
        pods={"p": WEB_FOR_5},
        by=By.WARNING,
        notice=25,
        budgets=NONE_MAY_GO,
        calls=((10, "delete p 5"),),
        gone=10,
    ),
    "so does do-not-disrupt": Case(
        pods={"p": SAFE_FOR_5}, by=By.WARNING, notice=25, calls=((10, "delete p 5"),), gone=10
    ),
    "an instance that stops is drained at once": Case(pods={"p": Given()}, by=By.STOPPING, calls=EVICTED),
}

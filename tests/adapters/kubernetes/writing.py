"""An API server for writers: it keeps nothing, and answers as a test has laid out."""

from __future__ import annotations

import json
import random
from collections import deque
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.agenda import HeapAgenda
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.conflicts import ConflictRetries
from treenail.adapters.kubernetes.resources import NODE_CLAIM, Resource
from treenail.adapters.kubernetes.stored import Stored
from treenail.domain.model.errors import ConflictError, NotFoundError, PortError

Tree: TypeAlias = dict[str, Any]

CONFLICT = ConflictError("somebody was first")
GONE = NotFoundError("it is not there")


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: Tree
    content_type: str


class Answers:
    """Gives the answers laid out, in their order, and remembers what was asked."""

    def __init__(self, *answers: Tree | PortError) -> None:
        self.asked: list[Asked] = []
        self._answers = deque(answers)

    def then(self, *answers: Tree | PortError) -> None:
        self._answers.extend(answers)

    def request(
        self, method: str, path: str, *, body: bytes | None = None, content_type: str = "application/json"
    ) -> bytes:
        self.asked.append(Asked(method, path, json.loads(body) if body else {}, content_type))
        answer = self._answers.popleft()
        if isinstance(answer, PortError):
            raise answer
        return json.dumps(answer).encode()

    @property
    def summary(self) -> list[str]:
        return [f"{asked.method} {asked.path}" for asked in self.asked]


class Rig:
    """What writers are made of, over answers laid out."""

    def __init__(self, *answers: Tree | PortError) -> None:
        self.server = Answers(*answers)
        self.calls = ApiCalls(self.server)
        self.clock = HeapAgenda()
        self.paused: list[float] = []
        self.retries = ConflictRetries(_Dice(), self.paused.append)


class _Dice:
    def __init__(self) -> None:
        self._random = random.Random(1)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def token(self) -> str:
        return f"{self._random.getrandbits(40):010x}"


def claim_tree(version: int = 1, *, finalizers: tuple[str, ...] = (), **status: Any) -> Tree:
    """A NodeClaim as the API server answers it."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": "c-0",
            "uid": "uid-c-0",
            "resourceVersion": str(version),
            "generation": 1,
            "finalizers": list(finalizers),
        },
        "spec": {
            "requirements": [],
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
        },
        "status": status,
    }


def machine_tree(version: int = 1) -> Tree:
    template = {"kind": "AWSNodeTemplate", "name": "default"}
    return {**claim_tree(version), "spec": {"machineTemplateRef": template}}


def node_tree(version: int = 1, *, taints: tuple[Tree, ...] = ()) -> Tree:
    return {
        "metadata": {"name": "n-0", "uid": "uid-n-0", "resourceVersion": str(version)},
        "spec": {"taints": list(taints)},
        "status": {},
    }


def stored(tree: Tree, resource: Resource = NODE_CLAIM) -> Stored:
    return Stored.of(resource, json.dumps(tree).encode())

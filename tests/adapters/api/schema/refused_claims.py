"""NodeClaims and Machines that break a rule, and the field that must be named. Reading refuses them too."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.schema.trees import KWOK, TAINT, Refused, asking, claim, machine, only

REFUSED_CLAIMS: Final[dict[str, Refused]] = {
    "malformed bound of a claim": Refused(
        claim(**asking("a", "Gt", "-b")),
        "spec.requirements[0].values",
        "Gt, Lt, Gte and Lte need exactly one whole number",
        'Gt needs exactly one whole number, not ["-b"]',
    ),
    "malformed key of a claim": Refused(
        claim(**asking("-a", "Exists")),
        "spec.requirements[0].key",
        "should match",
        '"-a" is not a label key (such as team or example.com/team)',
    ),
    "taint twice on a claim": Refused(
        claim(taints=[TAINT], startupTaints=[TAINT]),
        "spec.startupTaints",
        "one key and effect are there in taints too",
        "a with NoSchedule is there twice",
    ),
    "absurd request": Refused(
        claim(resources={"requests": {"memory": "10P"}}),
        "spec.resources.requests[memory]",
        "must not be more than 9007199254740992",
        '"10P" is absurdly large: the limit is 8Pi',
    ),
    "negative request": Refused(
        claim(resources={"requests": {"cpu": "-1"}}),
        "spec.resources.requests.cpu",
        "should match",
        '"-1" must not be negative',
    ),
    "claim without class": Refused(
        only(claim(), requirements=[]), "spec.nodeClassRef", "Required value", "is missing"
    ),
    "claim of a foreign class": Refused(
        claim(nodeClassRef={**KWOK, "kind": "X"}),
        "spec.nodeClassRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "operator of a later version": Refused(
        machine(**asking("a", "Gte", "1")),
        "spec.requirements[0].operator",
        'Unsupported value: "Gte"',
        '"Gte" is not one of DoesNotExist, Exists, Gt, In, Lt',
    ),
    "malformed bound of a machine": Refused(
        machine(**asking("a", "Gt")),
        "spec.requirements[0].values",
        "Gt, Lt, Gte and Lte need exactly one whole number",
        "Gt needs exactly one whole number, not []",
    ),
    "taint twice on a machine": Refused(
        machine(taints=[TAINT, TAINT]),
        "spec.taints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "machine of a foreign kind": Refused(
        machine(machineTemplateRef={"name": "a", "kind": "X"}),
        "spec.machineTemplateRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
}

"""Which pools are taken and which are refused, and which field that is said of."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import needs, pool, taints
from tests.conformance.steps.objects_told import rejected, taken
from tests.scenarios.manifests import changed

SUITE: Final = Suite("apis/v1/nodepool_validation_cel_test.go")
AFTER: Final = "spec.disruption.consolidateAfter"
EXPIRES: Final = "spec.template.spec.expireAfter"
GRACE: Final = "spec.template.spec.terminationGracePeriod"
POLICY: Final = "spec.disruption.consolidationPolicy"
BUDGETS: Final = "spec.disruption.budgets"
TAINTS: Final = "spec.template.spec.taints"
NEEDS: Final = "spec.template.spec.requirements"
LABELS: Final = "spec.template.metadata.labels"
REF: Final = "spec.template.spec.nodeClassRef"
LONG: Final = "x" * 250
TOO_LONG: Final = (f"test.com.test.{LONG}/test", f"test.com/x-{LONG}")
WELL_KNOWN: Final = ("type", "arch", "os", "karpenter.k8s.aws/instance-family")
BOUNDS: Final[tuple[list[str], ...]] = ([], ["1", "2"], ["a"], ["-1"])


def takes(line: int, what: str, path: str, *values: object) -> Case:
    """Return a case in which a pool is taken, whichever of the values a field has."""
    return SUITE.case(line, f"taken: {what}", *(taken(changed(pool(), path, value)) for value in values))


def refuses(line: int, what: str, path: str, *values: object, differs: str = "") -> Case:
    """Return a case in which a pool is refused, whichever of the values a field has."""
    steps = (rejected(changed(pool(), path, value), path) for value in values)
    return SUITE.case(line, f"refused: {what}", *steps, differs=differs)


def budget(**of: Any) -> list[dict[str, Any]]:
    return [{"nodes": "10", **of}]


def need(operator: str, *values: str, key: str = "topology.kubernetes.io/zone", **more: Any) -> Any:
    return [{"key": key, "operator": operator, **({"values": list(values)} if values else {}), **more}]


TIMES: Final = (
    *(
        takes(line, f"{what} of {value}", path, value)
        for path, what, lines in (
            (EXPIRES, "a life", ((84, "30s"), (85, "1h30m5s"), (86, "Never"))),
            (AFTER, "a wait", ((112, "30s"), (113, "1h30m5s"), (114, "Never"))),
            (GRACE, "a grace period", ((735, "30s"), (736, "1h30m5s"))),
        )
        for line, value in lines
    ),
    *(
        refuses(line, f"{what} of {value}", path, value)
        for path, what, lines in (
            (EXPIRES, "a life", ((96, "-1s"), (97, "1hr"), (98, "FooNever"))),
            (AFTER, "a wait", ((124, "-1s"), (125, "1hr"), (126, "FooNever"))),
            (GRACE, "a grace period", ((746, "-1s"), (747, "1hr"), (748, "Never"), (749, "FooNever"))),
        )
        for line, value in lines
    ),
)

DISRUPTION: Final = (
    *(
        takes(line, f"the policy {value}", POLICY, value)
        for line, value in ((168, "WhenEmpty"), (169, "WhenEmptyOrUnderutilized"), (170, "Balanced"))
    ),
    *(
        refuses(line, f"the policy {value!r}", POLICY, value)
        for line, value in (
            (180, "1"),
            (186, "balanced"),
            (187, "whenempty"),
            (188, ""),
            (189, "WhenUnderutilized"),
            (190, "foo"),
        )
    ),
    *(
        refuses(line, f"a budget with {what}", BUDGETS, budget(**spec))
        for line, what, spec in (
            (201, "a schedule that is none", {"schedule": "*", "duration": "20m"}),
            (209, "a schedule of four fields", {"schedule": "* * * * ", "duration": "20m"}),
            (217, "a negative duration", {"schedule": "* * * * *", "duration": "-20m"}),
            (225, "a duration of seconds", {"schedule": "* * * * *", "duration": "30s"}),
            (233, "a negative number of nodes", {"nodes": "-10"}),
            (239, "a negative share of nodes", {"nodes": "-10%"}),
            (245, "a share of four digits", {"nodes": "1000%"}),
            (251, "a schedule and no duration", {"schedule": "* * * * *"}),
            (258, "a duration and no schedule", {"duration": "20m"}),
            (349, "an unknown reason", {"reasons": ["invalid"]}),
            (350, "the reason expired", {"reasons": ["expired"]}),
            (351, "an empty reason", {"reasons": [""]}),
        )
    ),
    *(
        takes(line, f"a budget with {what}", BUDGETS, budget(**spec))
        for line, what, spec in (
            (265, "schedule and duration", {"schedule": "* * * * *", "duration": "20m"}),
            (273, "a duration of hours and minutes", {"schedule": "* * * * *", "duration": "2h20m"}),
            (281, "neither schedule nor duration", {}),
            (287, "a schedule by name", {"schedule": "@annually", "duration": "20m"}),
            (335, "the reason Drifted", {"reasons": ["Drifted"]}),
            (336, "the reason Underutilized", {"reasons": ["Underutilized"]}),
            (337, "the reason Empty", {"reasons": ["Empty"]}),
            (354, "several reasons", {"reasons": ["Drifted", "Empty"]}),
        )
    ),
    refuses(
        295,
        "one of two budgets has a schedule that is none",
        BUDGETS,
        [
            *budget(schedule="@annually", duration="20m"),
            *budget(schedule="*", duration="20m"),
        ],
    ),
    refuses(
        309,
        "one of two budgets has a schedule and no duration",
        BUDGETS,
        [*budget(schedule="* * * * *", duration="20m"), *budget(schedule="* * * * *")],
    ),
)

NODES: Final = (
    takes(
        365,
        "taints",
        TAINTS,
        taints(
            "a=b:NoSchedule",
            "c=d:NoExecute",
            "e=f:PreferNoSchedule",
            "Test=f:PreferNoSchedule",
            "test.com/Test=f:PreferNoSchedule",
            "test.com.com/test=f:PreferNoSchedule",
            "key-only:NoExecute",
        ),
    ),
    refuses(
        378,
        "taints with keys that are none",
        TAINTS,
        *(
            [{"key": key, "effect": "NoSchedule"}]
            for key in ("test.com.com}", "Test.com/test", "test/test/test", "test/", "/test")
        ),
    ),
    refuses(
        395,
        "taints with keys that are too long",
        TAINTS,
        *([{"key": key, "effect": "NoSchedule"}] for key in TOO_LONG),
    ),
    refuses(406, "a taint without key", TAINTS, [{"effect": "NoSchedule"}]),
    refuses(411, "a taint of no value", TAINTS, [{"key": "a", "value": "???", "effect": "NoSchedule"}]),
    refuses(416, "a taint whose effect is none", TAINTS, [{"key": "a", "effect": "???"}]),
    takes(421, "two taints of one key", TAINTS, taints("a:NoSchedule", "a:NoExecute")),
    takes(
        431,
        "requirements on labels of one's own",
        NEEDS,
        needs("Test Exists", "test.com/Test Exists", "test.com.com/test Exists", "key-only Exists"),
    ),
    refuses(
        441,
        "requirements on keys that are none",
        NEEDS,
        *(
            need("Exists", key=key)
            for key in ("test.com.com}", "Test.com/test", "test/test/test", "test/", "/test")
        ),
    ),
    refuses(
        458,
        "requirements on keys that are too long",
        NEEDS,
        *(need("Exists", key=key) for key in TOO_LONG),
    ),
    refuses(469, "a requirement on the pool itself", NEEDS, needs("pool In other")),
    takes(475, "all operators", NEEDS, needs("zone In test", "cpus Gt 1", "cpus Lt 1", "zone Exists")),
    refuses(486, "an operator that is none", NEEDS, need("unknown", "test")),
    refuses(495, "a requirement on another's label", NEEDS, needs("karpenter.sh/test In test")),
    refuses(504, "a requirement on the host name", NEEDS, needs("host In test")),
    takes(
        513,
        "requirements on labels of Kubernetes",
        NEEDS,
        needs("kubernetes.io/test In test"),
        needs("k8s.io/test In test"),
    ),
    takes(
        525,
        "requirements on labels below those of Kubernetes",
        NEEDS,
        needs("subdomain.kubernetes.io/test In test"),
        needs("subdomain.k8s.io/test In test"),
    ),
    takes(537, "well-known labels", NEEDS, *(needs(f"{key} In test") for key in WELL_KNOWN)),
    takes(550, "requirements that leave a value", NEEDS, needs("zone In test foo", "zone NotIn test bar")),
    takes(558, "no requirements", NEEDS, []),
    refuses(
        563,
        "Gt and Lt with what is no bound",
        NEEDS,
        *(need(operator, *values) for operator in ("Gt", "Lt") for values in BOUNDS),
    ),
    refuses(
        579,
        "Gte and Lte with what is no bound",
        NEEDS,
        *(need(operator, *values) for operator in ("Gte", "Lte") for values in BOUNDS),
    ),
    refuses(595, "minValues below none", NEEDS, need("In", "a", minValues=-1)),
    refuses(601, "minValues of none", NEEDS, need("In", "a", minValues=0)),
    refuses(607, "minValues of more than fifty", NEEDS, need("Exists", minValues=51)),
    takes(613, "more than fifty values", NEEDS, need("In", *map(str, range(90)))),
    refuses(623, "minValues of more than there are values", NEEDS, need("In", "a", minValues=2)),
    takes(631, "labels of one's own", LABELS, {"foo": "bar"}),
    refuses(636, "a label for the pool itself", LABELS, {"karpenter.sh/nodepool": "other"}),
    refuses(641, "a label with a key that is none", LABELS, {"spaces are not allowed": "value"}),
    refuses(646, "a label with a key that is too long", LABELS, {f"test.com/x-{LONG}": "value"}),
    refuses(657, "a label with a value that is none", LABELS, {"key": "/ is not allowed"}),
    refuses(662, "a label of a domain that is not the user's", LABELS, {"karpenter.sh/unknown": "value"}),
    takes(
        669,
        "labels that kOps needs",
        LABELS,
        {"kops.k8s.io/instancegroup": "nodes", "kops.k8s.io/gpu": "1"},
    ),
    takes(677, "labels called as domains", LABELS, {"kubernetes.io": "v"}, {"k8s.io": "v"}),
    takes(689, "labels of Kubernetes' domains", LABELS, {"kubernetes.io/key": "v"}, {"k8s.io/key": "v"}),
    takes(
        713,
        "labels of domains below those of Kubernetes",
        LABELS,
        {"subdomain.kubernetes.io/key": "v"},
        {"subdomain.k8s.io/key": "v"},
    ),
    *(
        refuses(line, f"a node class without {part}", f"{REF}.{part}", "")
        for line, part in ((763, "group"), (767, "kind"), (771, "name"))
    ),
)

CASES: Final[tuple[Case, ...]] = (*TIMES, *DISRUPTION, *NODES)

"""Settings of Karpenter's Deployment, and what becomes of each here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from treenail.adapters.cli.takeover.estate import Estate, Tree
from treenail.adapters.cli.takeover.findings import Finding, Verdict
from treenail.adapters.settings.global_settings import IGNORED_KEYS, VARIABLES_OF_KEYS
from treenail.adapters.settings.global_settings import NAME as GLOBAL_SETTINGS
from treenail.adapters.settings.settings import VARIABLES, Variable
from treenail.adapters.settings.unsupported_settings import ELECTION, FOLLOWED, GATES, IGNORED, REFUSED

_SECTION: Final = "settings"
_NAME: Final = "app.kubernetes.io/name"
_VARIABLES: Final[Mapping[str, Variable]] = {one.name: one for one in VARIABLES}
# The values of the chart for settings; the others are settings.NAME in camel case.
_CHART_VALUES: Final = {
    "CLUSTER_CA_BUNDLE": "settings.clusterCABundle",
    "DISABLE_LEADER_ELECTION": "leaderElection.enabled",
    "DISABLE_WEBHOOK": "webhook.enabled",
    "ENABLE_UI": "settings.enableUI",
    "HEALTH_PROBE_PORT": "controller.healthProbe.port",
    "IGNORE_DRA_REQUESTS": "settings.ignoreDRARequests",
    "ISOLATED_VPC": "settings.isolatedVPC",
    "KUBE_CLIENT_BURST": "settings.kubeClientBurst",
    "KUBE_CLIENT_QPS": "settings.kubeClientQPS",
    "LEADER_ELECTION_NAME": "leaderElection.name",
    "LEADER_ELECTION_NAMESPACE": "leaderElection.namespace",
    "LOG_LEVEL": "logLevel",
    "LOG_OUTPUT_PATHS": "logOutputPaths",
    "METRICS_PORT": "controller.metrics.port",
    "RESERVED_ENIS": "settings.reservedENIs",
    "WEBHOOK_PORT": "webhook.port",
}
# What the chart gives every container, and nobody chose.
_OF_THE_CHART: Final = frozenset(
    {"KUBERNETES_MIN_VERSION", "KARPENTER_SERVICE", "SYSTEM_NAMESPACE", "CPU_REQUESTS", "MEMORY_LIMIT"}
)


@dataclass(frozen=True, slots=True)
class Deployed:
    """A Deployment of Karpenter, and the settings that its container is given."""

    name: str
    namespace: str
    replicas: int
    settings: Mapping[str, str]
    elsewhere: tuple[str, ...]

    @property
    def called(self) -> str:
        """The Deployment as messages name it."""
        return f"Deployment {self.namespace}/{self.name}"

    @property
    def elects(self) -> bool:
        """True if its replicas elect a leader, by a Lease."""
        off = self.settings.get("DISABLE_LEADER_ELECTION", "").lower()
        return off not in ("1", "t", "true") and self.settings.get("LEADER_ELECT", "").lower() != "false"

    @property
    def lease(self) -> tuple[str, str]:
        """The namespace and the name of that Lease."""
        name = self.settings.get("LEADER_ELECTION_NAME", "karpenter-leader-election")
        return self.settings.get("LEADER_ELECTION_NAMESPACE") or self.namespace, name


def deployments(estate: Estate, name: str = "karpenter") -> list[Deployed]:
    """Return the Deployments of Karpenter, or of an autoscaler of another name, by label or image."""
    found = []
    for tree in estate.trees("Deployment"):
        metadata, spec = tree.get("metadata") or {}, tree.get("spec") or {}
        containers: Sequence[Tree] = ((spec.get("template") or {}).get("spec") or {}).get("containers") or ()
        of_image = [one for one in containers if name in _words(str(one.get("image", "")))]
        labelled = (metadata.get("labels") or {}).get(_NAME) == name
        if of_image or (labelled and containers):
            found.append(_deployed(metadata, spec, (of_image or containers)[0]))
    return found


def _words(image: str) -> list[str]:
    """Return the parts of an image's path: "public.ecr.aws/karpenter/controller:1.14.0" has karpenter."""
    *path, last = image.partition("@")[0].split("/")
    return [*path, last.partition(":")[0]]


def _deployed(metadata: Tree, spec: Tree, container: Tree) -> Deployed:
    environment = {one["name"]: one for one in container.get("env") or ()}
    told = {name: str(one["value"]) for name, one in environment.items() if one.get("value") is not None}
    elsewhere = [name for name, one in environment.items() if "valueFrom" in one]
    sources = (
        one.get("configMapRef") or one.get("secretRef") or {} for one in container.get("envFrom") or ()
    )
    elsewhere += [f"all of {source.get('name')}" for source in sources]
    said = [*(container.get("command") or ())[1:], *(container.get("args") or ())]
    return Deployed(
        name=str(metadata.get("name", "")),
        namespace=str(metadata.get("namespace") or "default"),
        replicas=int(spec.get("replicas", 1)),
        settings={**told, **dict(_arguments(said))},
        elsewhere=tuple(elsewhere),
    )


def _arguments(said: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings that flags say: --isolated-vpc, --log-level=debug or --log-level debug."""
    words = [str(one) for one in said]
    for word, following in pairwise([*words, "-"]):
        flag, given, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            apart = "true" if following.startswith("-") else following
            yield flag.upper().replace("-", "_"), value if given else apart


def settings_of(estate: Estate) -> Iterator[Finding]:
    """Yield what becomes of the settings of Karpenter's Deployment and of its ConfigMap of old."""
    for deployed in deployments(estate):
        for name, value in sorted(deployed.settings.items()):
            yield from _setting(name, value)
        for name in deployed.elsewhere:
            if name not in _OF_THE_CHART:
                yield _finding(name, Verdict.TO_DO, "its value stands elsewhere: have ours read it there")
    for tree in estate.trees("ConfigMap"):
        if (tree.get("metadata") or {}).get("name") == GLOBAL_SETTINGS:
            for key, value in sorted((tree.get("data") or {}).items()):
                yield from _key(key, str(value))


def _key(key: str, value: str) -> Iterator[Finding]:
    """Yield what becomes of a key of the ConfigMap, which is read as it stands."""
    variable = VARIABLES_OF_KEYS.get(key)
    if variable is not None:
        for one in _setting(variable, value):
            yield Finding(_SECTION, f"{GLOBAL_SETTINGS} {key}", one.verdict, f"{one.why}; or {variable}")
    elif value not in ("", IGNORED_KEYS.get(key, "")):
        why = f"{value!r} changes nothing here"
        yield Finding(_SECTION, f"{GLOBAL_SETTINGS} {key}", Verdict.NO_EFFECT, why)


def _setting(name: str, value: str) -> Iterator[Finding]:
    if name in _OF_THE_CHART:
        return
    shown = f"{name}={value}"
    if name == "FEATURE_GATES":
        yield from _gates(value)
    elif name in _VARIABLES:
        yield _read(_VARIABLES[name], shown, value)
    elif name in REFUSED:
        yield _refused(name, shown, value)
    elif name in ELECTION:
        yield _finding(shown, Verdict.SAME, "the same variable")
    elif name in IGNORED:
        same = value in ("", IGNORED[name])
        why = "the default" if same else "changes nothing here"
        yield _finding(shown, Verdict.SAME if same else Verdict.NO_EFFECT, why)
    else:
        why = "is no setting of ours: give it to ours too, by controller.env, if the AWS SDK needs it"
        yield _finding(name, Verdict.TO_DO, why)


def _read(variable: Variable, shown: str, value: str) -> Finding:
    try:
        variable.read(value.strip())
    except ValueError as error:
        return _finding(shown, Verdict.FIRST, f"{error}, {chart_value(variable.name)} in the chart")
    return _finding(shown, Verdict.SAME, f"the same variable, {chart_value(variable.name)} in the chart")


def _refused(name: str, shown: str, value: str) -> Finding:
    read, why = REFUSED[name]
    try:
        wanted = bool(value.strip()) and bool(read(value.strip()))
    except ValueError as error:
        return _finding(shown, Verdict.FIRST, str(error))
    if wanted:
        return _finding(shown, Verdict.FIRST, f"cannot be followed: {why}")
    return _finding(shown, Verdict.SAME, "switched off here too")


def _gates(value: str) -> Iterator[Finding]:
    for said in filter(None, (one.strip() for one in value.split(","))):
        name, _, written = said.partition("=")
        about = f"FEATURE_GATES {name}={written}"
        if name not in GATES:
            yield _finding(about, Verdict.NO_EFFECT, "is no feature gate that is known")
        elif name in FOLLOWED:
            yield _finding(about, Verdict.SAME, "followed")
        elif (written.lower() == "true") == GATES[name]:
            yield _finding(about, Verdict.SAME, "the default")
        else:
            yield _finding(about, Verdict.NOT_SUPPORTED, "changes nothing here")


def chart_value(name: str) -> str:
    """Return which value of the chart says a setting that Karpenter has too."""
    first, *rest = name.lower().split("_")
    return _CHART_VALUES.get(name) or f"settings.{first}{''.join(one.capitalize() for one in rest)}"


def _finding(about: str, verdict: Verdict, why: str) -> Finding:
    return Finding(_SECTION, about, verdict, why)

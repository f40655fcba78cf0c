"""`treenail takeover back`: what keeps Karpenter from taking the cluster as it is, and putting it right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

import typer

from treenail.adapters.api.manifests import decode_all
from treenail.adapters.cli.kubeconfig import Context, Kubeconfig, connect, no_cluster_beside
from treenail.adapters.cli.output_format import Output, OutputFormat
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.takeover.definitions import CONVERT, webhook_of
from treenail.adapters.cli.takeover.estate import Estate, of_cluster, of_files
from treenail.adapters.cli.takeover.findings import Finding, Verdict, print_findings
from treenail.adapters.cli.takeover.karpenter_settings import deployments
from treenail.domain.model.errors import PortError
from treenail.domain.model.labels import INSTANCE_PROFILE
from treenail.domain.model.nodes import DRIFTED, NodeClaim, Status, condition_of
from treenail.domain.model.taints import GOES_LATER
from treenail.domain.model.template_hash import HASH_VERSION, NODE_CLASS_HASH, NODEPOOL_HASH, version_of

_SECTION: Final = "going back"
_APPLY: Final = "treenail takeover back --apply"
# By this Karpenter knows whose profile is still needed when its node class has another role.
_STAMPED: Final = {"NodePool": NODEPOOL_HASH, "EC2NodeClass": NODE_CLASS_HASH}


def back(
    *,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", "-f", help="Manifests in place of a cluster; - is stdin."),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Fix in the cluster what can be fixed.")] = False,
    output: Output = OutputFormat.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    ctx: typer.Context,
) -> None:
    """Check what keeps Karpenter from taking the cluster as it is. Nothing is changed without --apply.

    The exit code is 0 where nothing is in the way, 1 where something must be done first, 2 for bad input.
    """
    no_cluster_beside(file, ctx)
    if apply and file:
        raise BadInputError("--apply changes a cluster: leave out -f")
    estate = of_files(file) if file else of_cluster(kubeconfig, context)
    if apply:
        _put_right(estate, kubeconfig, context)
        estate = of_cluster(kubeconfig, context, tell=False)
    parts = (_unread, _running, _definitions, _stamps, _profiles, _claims, _taints)
    findings = [finding for part in parts for finding in part(estate)]
    if not findings and not estate.of_karpenter:
        raise BadInputError("nothing of Karpenter's was found")
    print_findings(findings, output)


def _unread(estate: Estate) -> Iterator[Finding]:
    """Yield what could not be read: it may be in the way, and --apply passes it over."""
    for plural, problem in sorted(estate.unreadable.items()):
        yield Finding(_SECTION, plural, Verdict.FIRST, f"cannot be read: {problem}")
    for error in decode_all(estate.decodable, lenient=True).set_aside:
        why = f"{error.field}: {error.problem}".strip(": ")
        yield Finding(_SECTION, error.object or error.file, Verdict.NOT_UNDERSTOOD, why)


def _running(estate: Estate) -> Iterator[Finding]:
    for deployed in deployments(estate, "treenail"):
        scale = f"kubectl -n {deployed.namespace} scale deployment {deployed.name} --replicas=0"
        verdict = Verdict.TO_DO if deployed.replicas else Verdict.SAME
        why = f"runs: when you go back, {scale}" if deployed.replicas else "is scaled to 0"
        yield Finding(_SECTION, deployed.called, verdict, why)


def _definitions(estate: Estate) -> Iterator[Finding]:
    for tree in estate.trees("CustomResourceDefinition"):
        if (tree.get("spec") or {}).get("group") not in ("karpenter.sh", "karpenter.k8s.aws"):
            continue
        name = str((tree.get("metadata") or {}).get("name", ""))
        stored = (tree.get("status") or {}).get("storedVersions") or []
        served = [one["name"] for one in tree["spec"].get("versions") or ()]
        if "v1" in served and set(stored) != {"v1"}:
            why = (
                f"stored in {', '.join(stored)}: {CONVERT}, for Karpenter from 1.1 on; --to v1beta1 for 0.3x"
            )
            yield Finding(_SECTION, name, Verdict.FIRST, why)
        elif webhook_of(tree).endswith("/convert"):
            why = "is converted by our webhook: apply the definitions of Karpenter's chart"
            yield Finding(_SECTION, name, Verdict.TO_DO, why)


def _stamps(estate: Estate) -> Iterator[Finding]:
    for kind, name in _half_stamped(estate):
        why = f"bears a hash of Karpenter's, its claims ours, so that drift would not be seen: {_APPLY}"
        yield Finding(_SECTION, f"{kind} {name}", Verdict.FIRST, why)


def _half_stamped(estate: Estate) -> Iterator[tuple[str, str]]:
    """Yield pools and node classes with a hash of Karpenter's, of whose claims one bears a hash of ours."""
    stamped = {
        (kind, one.pool if kind == "NodePool" else one.node_class.name)
        for one in _known_claims(estate)
        for kind, key in _STAMPED.items()
        if one.annotations.get(version_of(key)) == HASH_VERSION
    }
    for kind, key in _STAMPED.items():
        for tree in estate.trees(kind):
            metadata = tree.get("metadata") or {}
            version = (metadata.get("annotations") or {}).get(version_of(key), HASH_VERSION)
            name = str(metadata.get("name", ""))
            if version != HASH_VERSION and (kind, name) in stamped:
                yield kind, name


def _profiles(estate: Estate) -> Iterator[Finding]:
    for name, profile in _unnamed_profiles(estate):
        why = f"does not name its instance profile {profile}, which goes with another role: {_APPLY}"
        yield Finding(_SECTION, f"NodeClaim {name}", Verdict.TO_DO, why)


def _claims(estate: Estate) -> Iterator[Finding]:
    for claim in _known_claims(estate):
        about = f"{claim.generation.claim_kind} {claim.name}"
        if claim.deleting_since is not None:
            yield Finding(_SECTION, about, Verdict.TO_DO, "is being deleted: Karpenter goes on with its end")
        elif not claim.launched:
            yield Finding(_SECTION, about, Verdict.FIRST, "has no instance yet: wait until it is launched")
        elif _says_not_drifted(claim):
            why = f"bears a condition Drifted that is not True, with which Karpenter replaces it: {_APPLY}"
            yield Finding(_SECTION, about, Verdict.FIRST, why)
        elif claim.drift is not None:
            yield Finding(_SECTION, about, Verdict.DRIFTS, f"{claim.drift}: it is replaced, by Karpenter too")
        else:
            yield Finding(_SECTION, about, Verdict.ADOPTED, "")


def _taints(estate: Estate) -> Iterator[Finding]:
    for node in _last_resorts(estate):
        why = f"bears our taint {GOES_LATER.key}: once our controller is stopped, {_APPLY}"
        yield Finding(_SECTION, f"Node {node}", Verdict.TO_DO, why)


def _last_resorts(estate: Estate) -> tuple[str, ...]:
    """Return the nodes that the scheduler is to use last, by a taint that Karpenter does not know."""
    nodes = decode_all(estate.decodable, lenient=True).nodes
    return tuple(sorted(node.name for node in nodes if GOES_LATER in node.taints))


def _unnamed_profiles(estate: Estate) -> Iterator[tuple[str, str]]:
    """Yield claims that do not name their instance profile, and the profile, where Karpenter manages it.

    Where a claim is of another role than its class is now, it drifts, and is replaced.
    """
    managed = {
        tree["metadata"]["name"]: (tree.get("status") or {}).get("instanceProfile")
        for tree in estate.trees("EC2NodeClass")
        if (tree.get("spec") or {}).get("role")
    }
    for claim in _known_claims(estate):
        profile = managed.get(claim.node_class.name) if claim.node_class.kind == "EC2NodeClass" else None
        if profile and claim.launched and claim.drift is None and INSTANCE_PROFILE not in claim.annotations:
            yield claim.name, profile


def _known_claims(estate: Estate) -> tuple[NodeClaim, ...]:
    return decode_all(estate.decodable, lenient=True).node_claims


def _says_not_drifted(claim: NodeClaim) -> bool:
    shown = condition_of(claim.conditions, DRIFTED)
    return shown is not None and shown.status is not Status.TRUE


def _put_right(estate: Estate, kubeconfig: Kubeconfig, context: Context) -> None:
    """Take off what would have Karpenter replace nodes, not see that they drift, or leave them unused."""
    from treenail.adapters.kubernetes.api_calls import ApiCalls  # noqa: PLC0415
    from treenail.adapters.kubernetes.resources import RESOURCES  # noqa: PLC0415
    from treenail.adapters.kubernetes.writer import KubernetesWriter  # noqa: PLC0415
    from treenail.adapters.runtime.clock import SystemClock  # noqa: PLC0415
    from treenail.adapters.runtime.dice import SystemDice  # noqa: PLC0415
    from treenail.domain.model.patches import ClaimPatch, NodePatch  # noqa: PLC0415

    connection = connect(kubeconfig, context, writes_per_second=50, tell=False)
    try:
        writer = KubernetesWriter(connection, clock=SystemClock(), dice=SystemDice())
        for claim in _known_claims(estate):
            if _says_not_drifted(claim):
                writer.patch_claim(claim.name, ClaimPatch(remove_conditions=(DRIFTED,)))
        for node in _last_resorts(estate):
            writer.patch_node(node, NodePatch(remove_taints=(GOES_LATER,)))
        for name, profile in _unnamed_profiles(estate):
            writer.patch_claim(name, ClaimPatch(annotations={INSTANCE_PROFILE: profile}))
        for kind, name in _half_stamped(estate):
            # Without a version Karpenter stamps the claims anew, and then this.
            gone: Mapping[str, None] = {version_of(_STAMPED[kind]): None}
            ApiCalls(connection).merge(RESOURCES[kind].path(name), {"metadata": {"annotations": gone}})
    except PortError as error:
        raise BadInputError(f"the cluster cannot be written: {error}") from None
    finally:
        connection.close()

"""The estate of Karpenter: the objects that have to do with it, from a cluster or from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from treenail.adapters.api.documents import Manifest, parse_manifests, read_manifests
from treenail.adapters.api.kinds import KINDS
from treenail.adapters.cli.kubeconfig import connect
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.settings.global_settings import NAME as GLOBAL_SETTINGS
from treenail.domain.model.errors import NotFoundError, PortError, UnavailableError

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.kubernetes.connection import Connection

Tree: TypeAlias = Mapping[str, Any]
# apiVersions, the newest first; kind; plural.
_Kind: TypeAlias = tuple[tuple[str, ...], str, str]
CRD: Final = "CustomResourceDefinition"
OURS: Final[tuple[_Kind, ...]] = (
    (("karpenter.k8s.aws/v1", "karpenter.k8s.aws/v1beta1"), "EC2NodeClass", "ec2nodeclasses"),
    (("karpenter.kwok.sh/v1alpha1",), "KWOKNodeClass", "kwoknodeclasses"),
    (("karpenter.k8s.aws/v1alpha1",), "AWSNodeTemplate", "awsnodetemplates"),
    (("karpenter.sh/v1", "karpenter.sh/v1beta1"), "NodePool", "nodepools"),
    (("karpenter.sh/v1alpha5",), "Provisioner", "provisioners"),
    (("karpenter.sh/v1", "karpenter.sh/v1beta1"), "NodeClaim", "nodeclaims"),
    (("karpenter.sh/v1alpha5",), "Machine", "machines"),
    (("karpenter.sh/v1alpha1",), "NodeOverlay", "nodeoverlays"),
    (("autoscaling.x-k8s.io/v1beta1", "autoscaling.x-k8s.io/v1alpha1"), "CapacityBuffer", "capacitybuffers"),
)
WEBHOOKS: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
_KUBERNETES: Final[tuple[_Kind, ...]] = (
    (("v1",), "Node", "nodes"),
    (("apps/v1",), "Deployment", "deployments"),
    (("v1",), "ConfigMap", "configmaps"),
    (("coordination.k8s.io/v1",), "Lease", "leases"),
    (("apiextensions.k8s.io/v1",), CRD, "customresourcedefinitions"),
    *((("admissionregistration.k8s.io/v1",), kind, f"{kind.lower()}s") for kind in WEBHOOKS),
)
GROUPS: Final = frozenset({"karpenter.sh", "karpenter.k8s.aws"})
_KINDS: Final = frozenset(kind for _, kind, _ in (*OURS, *_KUBERNETES))
_DECODED: Final = frozenset(kind for _, kind, _ in OURS) | {"Node"}
# Of these only some are looked at, and a cluster has thousands of others.
_SELECTED: Final = {"ConfigMap": f"metadata.name={GLOBAL_SETTINGS}"}


@dataclass(frozen=True, slots=True)
class Estate:
    """All objects, as manifests; `live` where they are those of a cluster as it is now.

    `unreadable` says by plural what the API server said of kinds that it serves and cannot read.
    """

    manifests: tuple[Manifest, ...]
    live: bool
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def trees(self, kind: str) -> Iterator[Tree]:
        """Yield the objects of a kind as trees."""
        for one in self.manifests:
            if one.kind == kind:
                yield msgspec.json.decode(one.content) if isinstance(one.content, bytes) else one.content

    @property
    def decodable(self) -> tuple[Manifest, ...]:
        """The manifests of nodes, of Karpenter's kinds, and of kinds of its groups that are not known."""
        return tuple(one for one in self.manifests if one.kind in _DECODED or one.kind not in _KINDS)

    @property
    def of_karpenter(self) -> bool:
        """True if there is an object of Karpenter's groups."""
        return any(map(_is_of_karpenter, self.manifests))


def of_files(files: Sequence[str]) -> Estate:
    """Read manifests of the kinds that matter here; others are skipped.

    Raises:
        ManifestError: a file cannot be read.
    """
    found = read_manifests([Path(one) if one != "-" else one for one in files])
    known = {kind for _, kind in KINDS} | _KINDS
    ours = [one for one in found if one.kind in _KINDS or (_is_of_karpenter(one) and one.kind not in known)]
    return Estate(tuple(ours), live=False)


def of_cluster(kubeconfig: Path | None, context: str | None, *, tell: bool = True) -> Estate:
    """Read a cluster, by GET alone. Which one it is, is said on stderr if `tell`.

    Raises:
        BadInputError: it cannot be reached or read.
    """
    from treenail.adapters.kubernetes.connection import NotConnectedError  # noqa: PLC0415

    try:
        connection = connect(kubeconfig, context, tell=tell)
        try:
            unreadable: dict[str, str] = {}
            # Those that any API server has come first: where they cannot be read, nothing can.
            items = [*_all(connection, _KUBERNETES), *_all(connection, OURS, unreadable)]
        finally:
            connection.close()
    except (NotConnectedError, PortError) as error:
        raise BadInputError(f"the cluster cannot be read: {error}") from None
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})
    return Estate(parse_manifests(text, "cluster") if items else (), live=True, unreadable=unreadable)


def _is_of_karpenter(manifest: Manifest) -> bool:
    return manifest.api_version.partition("/")[0] in GROUPS


def _all(
    connection: Connection, kinds: Sequence[_Kind], unreadable: dict[str, str] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of some kinds, each in the newest version that is served.

    Raises:
        PortError: one cannot be read; with `unreadable`, that is noted there where it can still be asked.
    """
    from treenail.adapters.cli.live_objects import objects_of  # noqa: PLC0415
    from treenail.adapters.kubernetes.resources import Resource  # noqa: PLC0415

    for versions, kind, plural in kinds:
        for version in versions:
            resource = Resource(kind, version, plural, namespaced=kind in ("Deployment", "Lease"))
            try:
                found = objects_of(connection, resource, fields=_SELECTED.get(kind, ""))
            except UnavailableError as error:
                # As where the webhook that converts them is away.
                if unreadable is None:
                    raise
                unreadable[plural] = str(error)
                continue
            if found is not None:
                if unreadable is not None:
                    unreadable.pop(plural, None)
                yield from found
                break
        else:
            if kind == "Node":
                # Every API server has these: what answers so is none, or does not show all it has.
                raise NotFoundError(f"{plural} are not served there")

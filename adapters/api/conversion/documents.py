"""Conversion of a set of manifests, of any version, to one version of NodePool and EC2NodeClass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from treenail.adapters.api.conversion.annotations import (
    KUBELET,
    NODE_CLASS_REFERENCE,
    V1_FIELDS,
    V1BETA1_FIELDS,
    annotated,
    list_in,
    mapping_in,
    taken,
)
from treenail.adapters.api.conversion.convert import V1, called, converted
from treenail.adapters.api.conversion.errors import ConversionError
from treenail.adapters.api.conversion.moves import (
    CLASS_TO_V1,
    KUBELET_FROM_POOL,
    KUBELET_TO_CLASS,
    POOL_TO_V1,
    POOL_TO_V1BETA1,
    PROVIDER_TO_CLASS,
    PROVISIONER_TO_POOL,
    STAYING,
    TEMPLATE_TO_CLASS,
    Moves,
)
from treenail.adapters.api.conversion.old_kinds import (
    NODE_TEMPLATE,
    PROVISIONER,
    ROLE,
    leaves_out_beside_ids,
    node_class_of,
    node_class_within,
    node_pool_of,
)
from treenail.adapters.api.conversion.trees import Tree, mapping
from treenail.adapters.api.errors import FieldError
from treenail.domain.model.template_hash import NODE_CLASS_HASH, NODEPOOL_HASH, PROVISIONER_HASH, version_of

OLD_KINDS: Final = {PROVISIONER: "karpenter.sh/v1alpha5", NODE_TEMPLATE: "karpenter.k8s.aws/v1alpha1"}
NEW_KINDS: Final = {
    "NodePool": "karpenter.sh",
    "NodeClaim": "karpenter.sh",
    "EC2NodeClass": "karpenter.k8s.aws",
}
_GROUPS: Final = frozenset(NEW_KINDS.values())
# What the API server keeps of an object, and what is of no use in a manifest to be applied.
_SERVERS: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
# Annotations of kubectl, and hashes of a controller: on the converted object they would be wrong.
_HASHES: Final = (
    NODEPOOL_HASH,
    PROVISIONER_HASH,
    NODE_CLASS_HASH,
    "karpenter.k8s.aws/nodetemplate-hash",
)
_WRITTEN_BY_OTHERS: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", *_HASHES, *map(version_of, _HASHES)}
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of fields of a converted object: the object number `source`, its paths moved by `steps`."""

    source: int
    steps: tuple[Moves, ...]


@dataclass(slots=True)
class Made:
    """An object that was made, and where its fields come from."""

    tree: Tree
    origins: list[Origin]
    warnings: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the object; "" where it has none."""
        return str((self.tree.get("metadata") or {}).get("name", ""))

    def then(self, moves: Moves) -> None:
        """Note that its fields were moved once more."""
        self.origins = [Origin(one.source, (*one.steps, moves)) for one in self.origins]


def is_convertible(tree: Mapping[str, Any], to: str) -> bool:
    """Return whether the object is of a kind and version that becomes something else in version `to`."""
    kind, api_version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return False
    if kind in OLD_KINDS:
        return api_version == OLD_KINDS[kind]
    return kind in NEW_KINDS and api_version in {f"{NEW_KINDS[kind]}/{v}" for v in ("v1beta1", "v1")} - {
        f"{NEW_KINDS[kind]}/{to}"
    }


def is_ours(tree: Mapping[str, Any]) -> bool:
    """Return whether the object is of one of those kinds, in whatever version, known or not."""
    kind, api_version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return False
    group = NEW_KINDS.get(kind) or OLD_KINDS.get(kind, "").partition("/")[0]
    return bool(group) and api_version.partition("/")[0] == group


def is_meant_for_us(tree: Mapping[str, Any]) -> bool:
    """Return whether the object is one of ours, or would be, were its kind or version written right."""
    kind, api_version = tree.get("kind"), tree.get("apiVersion")
    if not isinstance(kind, str):
        return False
    if not isinstance(api_version, str):
        return kind in NEW_KINDS or kind in OLD_KINDS
    return is_ours(tree) or api_version.partition("/")[0] in _GROUPS


def in_version(trees: Sequence[Mapping[str, Any]], to: str) -> dict[int, list[Made]]:
    """Return what the convertible ones of `trees` become in the version `to`, by their place.

    The kubelet's settings of pools of v1beta1 go into their node class, where that is among them and all of
    its pools agree. Where two are made of one, the second is what stood within the first.

    Raises:
        ConversionError: an object, whose place is the error's `source`, cannot be converted.
    """
    made: dict[int, list[Made]] = {}
    for n, tree in enumerate(trees):
        if is_convertible(tree, to):
            made[n] = _of_one(n, tree, to)
    _check_names(made, trees)
    if to == V1:
        _kubelets_to_classes([one for several in made.values() for one in several], trees)
    return made


def _check_names(made: Mapping[int, Sequence[Made]], trees: Sequence[Mapping[str, Any]]) -> None:
    """Raise ConversionError if two objects would have one kind and name."""
    seen: set[tuple[object, str]] = set()
    for n, tree in enumerate(trees):
        several = made.get(n, [Made(dict(tree), [])] if is_ours(tree) else [])
        for one in several:
            if (one.tree["kind"], one.name) in seen:
                kind = one.tree["kind"]
                problem = f"another {kind} {one.name} would stand beside what is made of it"
                raise ConversionError(called(tree), "metadata.name", problem, source=n)
            seen.add((one.tree["kind"], one.name))


def _of_one(n: int, tree: Mapping[str, Any], to: str) -> list[Made]:
    try:
        return list(_steps(n, tree, to))
    except FieldError as problem:
        raise ConversionError(called(tree), problem.field, problem.problem, source=n) from None
    except ConversionError as error:
        raise ConversionError(error.object, error.field, error.problem, source=n) from None


def _steps(n: int, tree: Mapping[str, Any], to: str) -> Iterator[Made]:
    for own in _in_v1beta1_at_least(n, tree):
        _clean(own.tree)
        kind, version = own.tree["kind"], str(own.tree["apiVersion"]).rpartition("/")[2]
        if version != to:
            own.tree = converted(own.tree, to)
            own.then(_moves(kind, to))
            _tidy(own, to)
        if own.tree["spec"].get("role") == ROLE:
            own.warnings.append(f"spec.role: put the role of the nodes in the place of {ROLE}")
        yield own


def _in_v1beta1_at_least(n: int, tree: Mapping[str, Any]) -> Iterator[Made]:
    if tree.get("kind") == PROVISIONER:
        yield Made(node_pool_of(tree), [Origin(n, (PROVISIONER_TO_POOL,))])
        within = node_class_within(tree)
        if within is not None:
            yield Made(within, [Origin(n, (PROVIDER_TO_CLASS,))])
    elif tree.get("kind") == NODE_TEMPLATE:
        made = Made(node_class_of(tree), [Origin(n, (TEMPLATE_TO_CLASS,))])
        if leaves_out_beside_ids(mapping(mapping(dict(tree), "spec", ""), "amiSelector", "spec")):
            made.warnings.append("spec.amiSelectorTerms: only the ids are kept: nothing may stand beside one")
        yield made
    else:
        yield Made(dict(tree), [Origin(n, ())])


def _moves(kind: str, to: str) -> Moves:
    if kind == "NodePool":
        return POOL_TO_V1 if to == V1 else POOL_TO_V1BETA1
    return CLASS_TO_V1 if to == V1 else STAYING


def _clean(tree: Tree) -> None:
    """Leave out what the API server and controllers wrote: what is made is a manifest."""
    tree.pop("status", None)
    metadata = {k: v for k, v in (tree.get("metadata") or {}).items() if k not in _SERVERS}
    annotations = metadata.get("annotations") or {}
    if not _WRITTEN_BY_OTHERS.isdisjoint(annotations):
        kept = {k: v for k, v in annotations.items() if k not in _WRITTEN_BY_OTHERS}
        metadata = {k: v for k, v in metadata.items() if k != "annotations"} | (
            {"annotations": kept} if kept else {}
        )
    tree["metadata"] = metadata


def _tidy(own: Made, to: str) -> None:
    """Take off the annotations that only matter to going back, and warn of those that matter."""
    if to == V1:
        taken(own.tree, NODE_CLASS_REFERENCE)
        taken(own.tree, V1BETA1_FIELDS)
        return
    notes = annotated(own.tree, V1_FIELDS)
    if notes is not None:
        fields = sorted(".".join(map(str, ("spec", *one["at"]))) for one in list_in(notes, V1_FIELDS))
        own.warnings.append(f"{', '.join(fields)}: v1beta1 cannot say it; it is kept in an annotation")


def _kubelets_to_classes(made: Sequence[Made], trees: Sequence[Mapping[str, Any]]) -> None:
    classes = {one.name: one for one in made if one.tree["kind"] == "EC2NodeClass"}
    pools: dict[str, list[Made]] = {}
    for one in made:
        if one.tree["kind"] == "NodePool":
            pools.setdefault(_class_of(one.tree), []).append(one)
    kept = [tree for tree in trees if is_ours(tree) and not is_convertible(tree, V1)]
    others = {_class_of(tree) for tree in kept if tree["kind"] == "NodePool"}
    for name, several in sorted(pools.items()):
        kubelets = [annotated(pool.tree, KUBELET) for pool in several]
        if not any(kubelets):
            continue
        agreed = len(set(kubelets)) == 1 and name in classes and name not in others
        if agreed:
            _move_kubelet(several, classes[name], str(kubelets[0]))
            continue
        why = "its node class is not among what is converted" if name not in classes else "its pools differ"
        for pool in several:
            if annotated(pool.tree, KUBELET) is not None:
                pool.warnings.append(
                    f"spec.template.spec.kubelet: stays with the pool, in the annotation {KUBELET}, as {why}"
                )


def _move_kubelet(pools: Sequence[Made], of_class: Made, kubelet: str) -> None:
    of_class.tree["spec"]["kubelet"] = mapping_in(kubelet, KUBELET)
    for pool in pools:
        taken(pool.tree, KUBELET)
        for origin in pool.origins:
            # The last step was from v1beta1, which is where the settings were.
            before = origin.steps[:-1]
            of_class.origins.append(Origin(origin.source, (*before, KUBELET_TO_CLASS)))
        pool.then(KUBELET_FROM_POOL)


def _class_of(pool: Mapping[str, Any]) -> str:
    spec: Any = pool
    for key in ("spec", "template", "spec", "nodeClassRef"):
        spec = (spec.get(key) if isinstance(spec, Mapping) else None) or {}
    return str(spec.get("name", "")) if isinstance(spec, Mapping) else ""

"""Manifests: objects as people write them, read from files and made into values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from treenail.adapters.api.consistency import Entry, problems
from treenail.adapters.api.core.pod_specs import PodSpecs
from treenail.adapters.api.core.unknown_fields import check_names
from treenail.adapters.api.cut_files import cut_off_perhaps, cut_snapshots
from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.documents import Manifest, parse_manifests, read_manifests
from treenail.adapters.api.errors import FieldError, ManifestError, first_of
from treenail.adapters.api.job_run_times import with_run_times
from treenail.adapters.api.kinds import KINDS, foreign, kind_of, passed_over
from treenail.adapters.api.oddities import oddities_of
from treenail.adapters.api.reading import LONG_AGO, Reading, Translation
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.claims import claim_manifest
from treenail.adapters.api.written.events import event_manifest
from treenail.adapters.api.written.nodes import node_manifest
from treenail.adapters.api.written.parts import Tree
from treenail.adapters.api.written.pods import pod_manifest
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_classes import NodeClassRef
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.not_acted_on import what_follows
from treenail.domain.model.pods import Pod

__all__ = [
    "Decoded",
    "Manifest",
    "ManifestError",
    "decode",
    "decode_all",
    "parse_manifests",
    "read_manifests",
    "to_manifest",
]


def decode(manifest: Manifest) -> tuple[ApiObject, ...]:
    """Return the translation of a manifest: a Provisioner with a provider is a pool and a node class.

    Raises:
        ManifestError: something is wrong with the object, taken by itself.
    """
    return _translated(manifest, Reading()).objects


def decode_all(
    manifests: Sequence[Manifest],
    *,
    node_classes_optional: bool = False,
    node_classes_there: Collection[NodeClassRef] = (),
    lenient: bool = False,
    at: datetime = LONG_AGO,
    specs: PodSpecs | None = None,
    keep_parts: bool = False,
) -> Decoded:
    """Return the translation of all manifests, checked as a set; see `decode`.

    `at` is when an object is taken to be created that does not say. Decode what belongs together with one
    `specs`, so that pods with equal specs share one. Specs keep their parts (`PodSpecs`) with `keep_parts`,
    and where a LimitRange is among the manifests.

    No two objects have one kind and name, and the node classes of pools and the nodes of pods are there.
    Kinds of Kubernetes' own that say nothing about pods or nodes, such as a Service, are passed over; kinds
    of other groups are skipped, and named in one warning.
    `node_classes_there` are there besides; `node_classes_optional` leaves node classes unchecked. With
    `lenient`, an object with something wrong is left out and its error put into `set_aside`.

    Raises:
        ManifestError: something is wrong with an object, unless `lenient`; its `others` are wrong, too.
    """
    errors: list[ManifestError] = list(cut_snapshots(manifests))
    if errors and not lenient:
        # What is wrong with the rest may follow from that.
        raise first_of(errors)
    manifests = with_run_times(manifests)
    keep_parts = keep_parts or any(m.kind == "LimitRange" for m in manifests)
    reading = Reading(at=at, specs=specs or PodSpecs(keep_parts=keep_parts))
    entries = tuple(_entries(manifests, reading, errors.append))
    if errors and not lenient:
        # What is wrong with the set may follow from these alone.
        raise first_of(errors)
    left_out: set[int] = set()
    for n, problem in problems(
        entries, node_classes_optional=node_classes_optional, node_classes_there=node_classes_there
    ):
        errors.append(_error(entries[n].manifest, problem))
        left_out.add(n)
    if errors and not lenient:
        raise first_of(errors)
    kept = [entry for n, entry in enumerate(entries) if n not in left_out]
    return Decoded.of(
        [one for entry in kept for one in entry.translation.objects],
        warnings=(
            *(line for entry in kept for line in _warnings(entry)),
            *(line for entry in kept for line in oddities_of(entry.manifest, _called(entry.manifest))),
            *_skipped(manifests),
            *(() if lenient else cut_off_perhaps(manifests)),
        ),
        set_aside=tuple(errors),
    )


def _entries(
    manifests: Sequence[Manifest], reading: Reading, set_aside: Callable[[ManifestError], None]
) -> Iterator[Entry]:
    for manifest in manifests:
        kind = manifest.api_version, manifest.kind
        if passed_over(*kind) or foreign(*kind):
            continue
        try:
            yield Entry(manifest, _translated(manifest, reading))
        except ManifestError as error:
            set_aside(error)


def to_manifest(thing: NodeClaim | Node | Pod | ClusterEvent) -> Tree:
    """Write an object as the API server would show it: a mapping of plain values, ready for JSON or YAML.

    A claim is a NodeClaim, or a Machine of the old generation. Decoding what is written for a claim or node
    gives it again; of a pod's containers only what they ask for together is kept.
    """
    match thing:
        case NodeClaim():
            return claim_manifest(thing)
        case Node():
            return node_manifest(thing)
        case Pod():
            return pod_manifest(thing)
        case ClusterEvent():
            return event_manifest(thing)


def _translated(manifest: Manifest, reading: Reading) -> Translation:
    try:
        kind = kind_of(manifest.api_version, manifest.kind)
        check_names(manifest.api_version, manifest.kind, manifest.content)
        return kind.read(manifest.content, reading)
    except FieldError as problem:
        raise _error(manifest, problem) from None
    except RecursionError:
        raise _error(manifest, FieldError("", "is nested too deep")) from None


def _error(manifest: Manifest, problem: FieldError) -> ManifestError:
    about = ObjectRef(manifest.kind, manifest.name, _namespace(manifest)) if manifest.name else None
    return ManifestError(
        manifest.file,
        _called(manifest),
        problem.field,
        problem.problem,
        about=about,
        api_version=manifest.api_version,
    )


def _warnings(entry: Entry) -> Iterator[str]:
    for path in entry.translation.not_acted_on:
        yield f"{entry.manifest.file}: {_called(entry.manifest)}: {path}: is {what_follows(path)}"


def _skipped(manifests: Sequence[Manifest]) -> Iterator[str]:
    """Yield one line on the objects of kinds that are not known here, if there are any."""
    kinds = Counter(m.kind for m in manifests if foreign(m.api_version, m.kind))
    if kinds:
        named = ", ".join(f"{kind} ({count})" for kind, count in sorted(kinds.items()))
        files = ", ".join(dict.fromkeys(m.file for m in manifests if foreign(m.api_version, m.kind)))
        yield f"{files}: kinds that are not known here are skipped, with what they would make: {named}"


def _called(manifest: Manifest) -> str:
    """Return "Provisioner default", or which object of its file it is where it has no kind or name."""
    if not manifest.kind or not manifest.name:
        return f"{manifest.kind or 'object'} (number {manifest.number})"
    namespace = _namespace(manifest)
    if namespace in ("", "default"):
        return f"{manifest.kind} {manifest.name}"
    return f"{manifest.kind} {namespace}/{manifest.name}"


def _namespace(manifest: Manifest) -> str:
    kind = KINDS.get((manifest.api_version, manifest.kind))
    if kind is None or not kind.namespaced:
        return ""
    return manifest.namespace or "default"

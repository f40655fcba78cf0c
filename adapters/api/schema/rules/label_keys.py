"""Labels that a pool may set and ask for: the rules of `restrictions`, for the API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from treenail.adapters.api.karpenter.restrictions import AWS_ONLY, KUBERNETES_DOMAINS, LEFT_TO_USERS
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule
from treenail.adapters.api.schema.rules.forms import KEY, VALUES
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation

_GIVEN: Final = (labels.HOSTNAME, labels.NODEPOOL, labels.PROVISIONER)
_KNOWN: Final = frozenset(
    {*labels.WELL_KNOWN, *(old for old, new in labels.NORMALIZED.items() if new in labels.WELL_KNOWN)}
)
_MOST_LABELS: Final = 100


def allowed(generation: Generation) -> tuple[Rule, ...]:
    """Return the rules for a key that a pool of `generation` uses, which is `self`."""
    return tuple(Rule(expression, message) for expression, message in _of(generation, "self"))


def allowed_beside_pool() -> tuple[Rule, ...]:
    """Return the rules for a key that a node overlay or a NodeClaim uses, which is `self`."""
    free = f"self == {cel.text(labels.NODEPOOL)}"
    return tuple(Rule(f"{free} || ({one.expression})", one.message) for one in allowed(Generation.V1))


def own_labels(path: str, generation: Generation) -> Constraints:
    """Return the rules for the labels at `path` that a pool of `generation` gives its nodes."""
    return {
        path: Constraint(
            [*_well_formed(), *_restricted(generation)],
            {"maxProperties": _MOST_LABELS, "x-kubernetes-map-type": "atomic"},
        ),
        path + "{}": VALUES,
    }


def own_annotations(path: str) -> Constraints:
    """Return the rules for the annotations at `path` that a pool gives its nodes."""
    rule = Rule(
        f"self.all(k, k.lowerAscii().matches({cel.text(KEY)}))",
        "its keys must be annotation keys (such as example.com/team)",
    )
    return {path: Constraint([rule], {"maxProperties": _MOST_LABELS})}


def _well_formed() -> Iterator[Rule]:
    yield Rule(
        f"self.all(k, k.matches({cel.text(KEY)}))",
        "its keys must be label keys (such as team or example.com/team)",
    )


def _restricted(generation: Generation) -> Iterator[Rule]:
    for expression, message in _of(generation, "k"):
        yield Rule(f"self.all(k, {expression})", message)


def _of(generation: Generation, key: str) -> Iterator[tuple[str, str]]:
    yield f"!({key} in {cel.texts(_GIVEN)})", f"{_listed(_GIVEN)} are restricted: every node has them"
    ours, aws = _within("karpenter.sh", _KNOWN), _within("karpenter.k8s.aws", _KNOWN | AWS_ONLY)
    yield _known_only("karpenter.sh", ours, key), f"of karpenter.sh there is only {_listed(ours)}"
    yield _known_only("karpenter.k8s.aws", aws, key), f"of karpenter.k8s.aws there are only {_listed(aws)}"
    if generation is not Generation.V1:
        yield _kubernetes(key)


def _known_only(domain: str, known: list[str], key: str) -> str:
    return f"{key} in {cel.texts(known)} || !{cel.within(domain, key)}"


def _kubernetes(key: str) -> tuple[str, str]:
    known = sorted(k for domain in KUBERNETES_DOMAINS for k in _within(domain, _KNOWN))
    theirs = " || ".join(cel.within(domain, key) for domain in KUBERNETES_DOMAINS)
    left = "|".join(domain.replace(".", "[.]") for domain in LEFT_TO_USERS)
    users = f"{key}.matches({cel.text(f'^[^/]*({left})/')})"
    message = f"labels of {_listed(KUBERNETES_DOMAINS)} are restricted, but for {_listed(known)}"
    return f"{key} in {cel.texts(known)} || {users} || !({theirs})", message


def _within(domain: str, keys: Iterable[str]) -> list[str]:
    owned = (k for k in keys if (own := k.rpartition("/")[0]) == domain or own.endswith("." + domain))
    return sorted(k for k in owned if k not in _GIVEN)


def _listed(keys: Iterable[str]) -> str:
    return ", ".join(keys)

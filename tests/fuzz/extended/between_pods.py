"""Rules between pods: spread, affinity and anti-affinity, hard and soft, over every kind of domain."""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.fuzz.manifests import (
    CAPACITY_TYPE,
    HOSTNAME,
    PREFERRED,
    RACK,
    REQUIRED,
    ZONE,
    Manifest,
    need,
)

_APPS = 9


def spread(dice: random.Random, labels: Mapping[str, str]) -> list[Manifest]:
    """Return up to two constraints."""
    drawn = dice.random()
    return [_constraint(dice, labels) for _ in range(2 if drawn < 0.08 else int(drawn < 0.4))]


def _constraint(dice: random.Random, labels: Mapping[str, str]) -> Manifest:
    hard = dice.random() < 0.7
    written: Manifest = {
        "maxSkew": dice.randint(1, 3),
        "topologyKey": dice.choice((ZONE, ZONE, HOSTNAME, CAPACITY_TYPE, RACK)),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": _pods(dice, labels),
    }
    if hard and dice.random() < 0.2:
        written["minDomains"] = dice.randint(2, 5)
    if "version" in labels and dice.random() < 0.5:
        written["matchLabelKeys"] = ["version"]
    if dice.random() < 0.2:
        written["nodeAffinityPolicy"] = dice.choice(("Honor", "Ignore"))
    if dice.random() < 0.2:
        written["nodeTaintsPolicy"] = dice.choice(("Honor", "Ignore"))
    return written


def _pods(dice: random.Random, labels: Mapping[str, str]) -> Manifest:
    """Return a selector: of the own application, more rarely of another, of a tier or of several."""
    drawn = dice.random()
    if drawn < 0.6:
        return {"matchLabels": {"app": labels["app"]}}
    if drawn < 0.75:
        return {"matchLabels": {"app": f"app-{dice.randrange(_APPS)}"}}
    if drawn < 0.9:
        return {"matchLabels": {"tier": dice.choice("pq")}}
    others = [f"app-{dice.randrange(_APPS)}" for _ in range(2)]
    return {"matchExpressions": [need("app", "In", labels["app"], *others)]}


def pod_affinity(dice: random.Random, labels: Mapping[str, str]) -> Manifest:
    """Return `podAffinity` and `podAntiAffinity` with up to two terms."""
    written: Manifest = {}
    drawn = dice.random()
    for _ in range(2 if drawn < 0.08 else int(drawn < 0.4)):
        kind = "podAntiAffinity" if dice.random() < 0.65 else "podAffinity"
        one = term(dice, labels)
        terms = written.setdefault(kind, {})
        if dice.random() < 0.6:
            terms.setdefault(REQUIRED, []).append(one)
        else:
            wish = {"weight": dice.randint(1, 100), "podAffinityTerm": one}
            terms.setdefault(PREFERRED, []).append(wish)
    return written


def term(dice: random.Random, labels: Mapping[str, str]) -> Manifest:
    """Return one term, of the own namespace or of others by name or label."""
    written: Manifest = {
        "labelSelector": _pods(dice, labels),
        "topologyKey": dice.choice((ZONE, ZONE, HOSTNAME, HOSTNAME, CAPACITY_TYPE)),
    }
    drawn = dice.random()
    if drawn < 0.1:
        written["namespaces"] = [dice.choice(("blue", "green"))]
    elif drawn < 0.2:
        written["namespaceSelector"] = {"matchLabels": {"stage": dice.choice(("web", "data"))}}
    elif drawn < 0.25:
        written["namespaceSelector"] = {}
    return written

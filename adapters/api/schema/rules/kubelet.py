"""The kubelet's settings."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.amounts import MOST_OF_ONE
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule
from treenail.adapters.api.schema.rules.forms import amounts, go_duration
from treenail.adapters.api.schema.structural import LONGEST_QUANTITY, QUANTITY

_PERCENT: Final = "0*(100([.]0{1,9})?|[0-9]{1,2}([.][0-9]{1,9})?)%"
THRESHOLD: Final = Constraint(
    keywords={"pattern": f"^({_PERCENT}|{QUANTITY[1:-1]})$", "maxLength": LONGEST_QUANTITY}
)
_OCTET: Final = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
# Of an IPv6 address no more is said than what it is written with.
ADDRESS: Final = rf"^({_OCTET}([.]{_OCTET}){{3}}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%\S+)?)$"


def kubelet(path: str) -> Constraints:
    """Return the rules for the settings at `path`."""
    return {
        path: Constraint([_images(), *_soft()]),
        f"{path}.evictionHard{{}}": THRESHOLD,
        f"{path}.evictionSoft{{}}": THRESHOLD,
        f"{path}.evictionSoftGracePeriod{{}}": go_duration(),
        f"{path}.clusterDNS[]": Constraint(keywords={"pattern": ADDRESS}),
        **amounts(f"{path}.systemReserved", most=MOST_OF_ONE),
        **amounts(f"{path}.kubeReserved", most=MOST_OF_ONE),
    }


def _images() -> Rule:
    low, high = "self.imageGCLowThresholdPercent", "self.imageGCHighThresholdPercent"
    return Rule(
        f"!has({low}) || !has({high}) || {high} > {low}",
        "must be more than imageGCLowThresholdPercent",
        "imageGCHighThresholdPercent",
    )


def _soft() -> tuple[Rule, ...]:
    message = "every signal must stand in evictionSoft and in evictionSoftGracePeriod, or in neither"
    return tuple(
        Rule(f"!has(self.{one}) || self.{one}.all(k, has(self.{other}) && k in self.{other})", message, one)
        for one, other in (
            ("evictionSoft", "evictionSoftGracePeriod"),
            ("evictionSoftGracePeriod", "evictionSoft"),
        )
    )

"""The forms that names, labels and amounts must have, as patterns; `names` and `amounts` read the same."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule

LONGEST_KEY: Final = 316
LONGEST_VALUE: Final = 63
LONGEST_SUBDOMAIN: Final = 253
LONGEST_DURATION: Final = 64

_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = rf"{_DNS_LABEL}([.]{_DNS_LABEL})*"
_NAME: Final = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"

SUBDOMAIN: Final = f"^{_DOMAIN}$"
KEY: Final = f"^({_DOMAIN}/)?{_NAME}$"
VALUE: Final = f"^({_NAME})?$"
# What a bound may be, which is no label's value where it has a sign.
VALUE_OR_NUMBER: Final = f"^([+-]?[0-9]+|({_NAME})?)$"
WHOLE_NUMBER: Final = "^[+-]?[0-9]+$"
# In the notation of Go, which has signs and fractions.
GO_DURATION: Final = "^[+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$"

KEYS: Final = Constraint(keywords={"pattern": KEY, "maxLength": LONGEST_KEY})
VALUES: Final = Constraint(keywords={"pattern": VALUE, "maxLength": LONGEST_VALUE})
NAMES: Final = Constraint(keywords={"pattern": SUBDOMAIN, "maxLength": LONGEST_SUBDOMAIN})

_FITS: Final = "must be less than 292 years"
# A rule that fails where it should say no keeps the API server from writing even the status of what was
# stored before the rule was there: so whatever the conversions below cannot take is ruled out first.
_ENDLESS: Final = "[1-9][0-9]{7}[0-9]*h|[1-9][0-9]{9}[0-9]*m|[1-9][0-9]{10}[0-9]*s"
_FINITE: Final = f"!self.matches('{_ENDLESS}') && duration(self) >= duration('0s')"
_SPAN: Final = f"self.matches('^([0-9]+[smh])+$') && {_FINITE}"


def duration() -> Constraint:
    """Demand a duration that Go can hold."""
    rule = Rule(_SPAN, _FITS)
    return Constraint([rule], {"maxLength": LONGEST_DURATION})


def go_duration() -> Constraint:
    """Demand a duration in the notation of Go, and one that Go can hold."""
    rule = Rule(f"self.matches('{GO_DURATION}') && {_FINITE}", _FITS)
    return Constraint([rule], {"pattern": GO_DURATION, "maxLength": LONGEST_DURATION})


def duration_or_never() -> Constraint:
    """Demand a duration that Go can hold, or Never."""
    rule = Rule(f"self == 'Never' || ({_SPAN})", _FITS)
    return Constraint([rule], {"maxLength": LONGEST_DURATION})


def amounts(path: str, *, most: int) -> Constraints:
    """Demand of the mapping of quantities at `path` that none is beyond `most`.

    The API server reads one that it cannot hold as the largest it can, so that must be the first beyond.
    """
    text = f"isQuantity(self) && quantity(self).isLessThan(quantity('{most + 1}'))"
    rule = Rule(f"type(self) == int ? self <= {most} : {text}", f"must not be more than {most}")
    return {path + "{}": Constraint([rule])}

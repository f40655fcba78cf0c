"""Block devices, metadata and tags, as every version has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from treenail.adapters.api.aws.launch_options import OUR_TAGS
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Constraints, Rule

_MOST_DEVICES: Final = 50


_HAS_VOLUME: Final = Rule("has(self.ebs)", "is missing", "ebs")
_NAMED: Final = Rule("has(self.deviceName) && size(self.deviceName) > 0", "is missing", "deviceName")


def block_devices(path: str, *, named: bool = False) -> Constraints:
    """Return the rules for the block devices at `path`; with `named`, each must have a name."""
    one_root = Rule(
        "self.filter(m, has(m.rootVolume) && m.rootVolume).size() <= 1", "only one may have rootVolume"
    )
    return {
        path: Constraint([one_root], {"maxItems": _MOST_DEVICES}),
        f"{path}[]": Constraint([_NAMED, _HAS_VOLUME] if named else [_HAS_VOLUME]),
        f"{path}[].ebs": Constraint(tuple(_volume())),
        f"{path}[].ebs.volumeSize": Constraint([_size()]),
    }


def _volume() -> Iterator[Rule]:
    snapshot = cel.given("snapshotID")
    yield Rule(f"has(self.volumeSize) || {snapshot}", "needs volumeSize or snapshotID")
    yield Rule(
        f"!has(self.volumeInitializationRate) || {snapshot}", "needs snapshotID", "volumeInitializationRate"
    )


def _size() -> Rule:
    number = "self >= 1000000000 && self <= 64000000000000"
    least, most = (
        "!quantity(self).isLessThan(quantity('1G'))",
        "!quantity(self).isGreaterThan(quantity('64T'))",
    )
    text = f"isQuantity(self) && {least} && {most}"
    return Rule(f"type(self) == int ? ({number}) : ({text})", "is not between 1G and 64T")


def metadata_options(path: str, *, hop_limit: int) -> Constraints:
    """Return the defaults of the metadata options at `path`, whole and each by itself."""
    defaults = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": hop_limit,
        "httpTokens": "required",
    }
    each = {f"{path}.{name}": Constraint().otherwise(value) for name, value in defaults.items()}
    return {path: Constraint().otherwise(defaults), **each}


def tags(path: str, *, restricted: Iterable[str], prefix: str) -> Constraints:
    """Return the rules for the tags that instances get."""
    ours = sorted({*OUR_TAGS, *restricted})
    return {
        path: Constraint(
            [
                Rule("self.all(k, k != '')", "a tag has an empty key"),
                Rule(
                    f"self.all(k, !(k in {cel.texts(ours)}) && !k.startsWith({cel.text(prefix)}))",
                    f"{', '.join(ours)} and {prefix}... are restricted: instances get them by themselves",
                ),
            ]
        )
    }

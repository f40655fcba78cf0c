"""All definitions, and the text of their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import yaml

from treenail.adapters.api.schema.definitions import Definition
from treenail.adapters.api.schema.kinds.aws_node_templates import AWS_NODE_TEMPLATES
from treenail.adapters.api.schema.kinds.capacity_buffers import CAPACITY_BUFFERS
from treenail.adapters.api.schema.kinds.ec2_node_classes import EC2_NODE_CLASSES
from treenail.adapters.api.schema.kinds.kwok_node_classes import KWOK_NODE_CLASSES
from treenail.adapters.api.schema.kinds.machines import MACHINES
from treenail.adapters.api.schema.kinds.node_claims import NODE_CLAIMS
from treenail.adapters.api.schema.kinds.node_overlays import NODE_OVERLAYS
from treenail.adapters.api.schema.kinds.node_pools import NODE_POOLS
from treenail.adapters.api.schema.kinds.provisioners import PROVISIONERS

DEFINITIONS: Final[tuple[Definition, ...]] = (
    NODE_POOLS,
    NODE_CLAIMS,
    NODE_OVERLAYS,
    EC2_NODE_CLASSES,
    PROVISIONERS,
    MACHINES,
    AWS_NODE_TEMPLATES,
    KWOK_NODE_CLASSES,
    CAPACITY_BUFFERS,
)

_HEAD: Final = "# Made from the models in adapters/api by `make crds`: change those.\n"
_WIDTH: Final = 110


class _Dumper(yaml.SafeDumper):
    """Writes what is there twice a second time: a definition has no anchors."""

    def ignore_aliases(self, _data: object) -> bool:
        return True


def files() -> Mapping[str, str]:
    """Return the text of every definition by the name of its file."""
    return {one.file: _HEAD + _text(one) for one in DEFINITIONS}


def _text(definition: Definition) -> str:
    made: str = yaml.dump(
        definition.manifest(), Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True
    )
    return made

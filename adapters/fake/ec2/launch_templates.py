"""The launch templates of a cluster: one for all launches that boot alike."""

from __future__ import annotations

from typing import Final, TypeAlias

from treenail.adapters.fake.ec2.spells import Spell, Spells
from treenail.adapters.fake.ec2.throttle import Throttle
from treenail.domain.fleets import FleetRequest
from treenail.domain.ports import UnavailableError

CREATE_LAUNCH_TEMPLATE: Final = "CreateLaunchTemplate"
_Key: TypeAlias = tuple[object, ...]


class LaunchTemplates:
    """Made when a launch needs them, and found by the next that boots alike."""

    def __init__(self, spells: Spells, throttle: Throttle) -> None:
        self._spells = spells
        self._throttle = throttle
        self._there: dict[_Key, None] = {}
        # Deleted by somebody, and still thought to be there by who made them.
        self._gone: dict[_Key, None] = {}

    def ensure(self, request: FleetRequest) -> bool:
        """Have the template of a launch; tell whether the launch was tried without it before.

        Raises:
            UnavailableError: it is not there, and cannot be made now.
        """
        if request.node_class.launch_template:
            return False
        key = _key(request)
        if key in self._there:
            return False
        in_vain = key in self._gone
        self._throttle.note(CREATE_LAUNCH_TEMPLATE)
        if self._spells.on(Spell.TEMPLATES_REFUSED):
            raise UnavailableError("Unavailable: CreateLaunchTemplate: The service is unavailable.")
        self._gone.pop(key, None)
        self._there[key] = None
        return in_vain

    def delete_all(self) -> None:
        """Delete all, as somebody at a console would."""
        self._gone.update(self._there)
        self._there.clear()


def _key(request: FleetRequest) -> _Key:
    """Return what a launch has in common with those that use the same template."""
    node_class = request.node_class
    return (
        str(node_class.ref),
        node_class.generation,
        request.kubelet,
        tuple(sorted(request.labels.items())),
        tuple(sorted(request.taints)),
    )

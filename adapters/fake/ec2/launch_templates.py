"""Launch templates of a cluster: one for all launches that boot alike."""

from __future__ import annotations

from typing import TypeAlias

from treenail.adapters.fake.ec2.spells import Spell, Spells
from treenail.adapters.fake.ec2.throttle import CREATE_LAUNCH_TEMPLATE
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.fleets import FleetRequest

_Key: TypeAlias = tuple[object, ...]


class LaunchTemplates:
    """Made when a launch needs them, and found by the next that boots alike."""

    def __init__(self, spells: Spells) -> None:
        self._spells = spells
        self._there: dict[_Key, None] = {}
        # Deleted by somebody, and still thought to be there by who made them.
        self._gone: dict[_Key, None] = {}

    def there(self, request: FleetRequest) -> bool:
        """Return whether a launch has its template, or one of somebody else's."""
        return bool(request.node_class.launch_template) or _key(request) in self._there

    def thought_there(self, request: FleetRequest) -> bool:
        """Return whether who launches does not know yet that the template was deleted. Next time it does."""
        known = len(self._gone)
        self._gone.pop(_key(request), None)
        return len(self._gone) < known

    def make(self, request: FleetRequest) -> None:
        """Make the template of a launch.

        Raises:
            UnavailableError: none can be made now.
        """
        if self._spells.on(Spell.TEMPLATES_REFUSED):
            raise UnavailableError(f"Unavailable: {CREATE_LAUNCH_TEMPLATE}: The service is unavailable.")
        self._there[_key(request)] = None

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
        request.reservations,
    )

from __future__ import annotations

from tests.permitted import only_what_is_permitted_is_called

__all__ = ["only_what_is_permitted_is_called"]

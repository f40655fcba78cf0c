"""Amounts of money, as people write them."""

from __future__ import annotations


def dollars(amount: float) -> str:
    """Write an amount in $ with as many digits as tell something."""
    if not amount:
        return "$0"
    if amount >= 100:  # noqa: PLR2004 (cents tell nothing from here on)
        return f"${amount:,.0f}"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"

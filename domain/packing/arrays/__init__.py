"""Amounts as arrays, budgets of work, and other small tools of packing that know no pods."""

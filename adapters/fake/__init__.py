"""The outside world, faked: stateful, seeded, and refusing what could never be."""

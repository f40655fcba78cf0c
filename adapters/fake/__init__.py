"""The outside world, faked: stateful, seeded, and as strict as the real one."""

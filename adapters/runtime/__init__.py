"""The runtime of actors in production: clock, timers, tasks and dice."""

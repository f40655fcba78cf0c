"""Runtime of the actors: how they receive and send, threads, the seeded world, publishing."""

"""Leader election among replicas: a Lease, how it is won and kept, and until when its holder may act.

In: the lease as it was read or written, and seconds of a local clock. Out: what to write, and a deadline.
Used by LeaderElector, and by all adapters that change something outside.
"""

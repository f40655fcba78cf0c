"""Steps of cases: what is done to the cluster, and what is expected of it."""

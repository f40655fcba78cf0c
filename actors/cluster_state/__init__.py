"""ClusterState, the one writer of facts and promises, and the parts it is composed of."""

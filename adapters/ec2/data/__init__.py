"""The shipped catalogue: what EC2's instance types are, where they are sold and at what price."""

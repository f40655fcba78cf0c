"""The shipped catalogue: instance types of EC2, zones that sell them, and prices."""

"""EC2: its catalogue, and the calls that launch and terminate instances."""

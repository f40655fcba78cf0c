"""EC2: what it sells, and the calls that buy it."""

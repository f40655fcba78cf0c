"""Node names: the private DNS names of their instances."""

from __future__ import annotations


def node_name_of(private_ip: str, region: str) -> str:
    """Return the name of the instance with this address."""
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{private_ip.replace('.', '-')}.{domain}"

"""Treenail, a node autoscaler for Kubernetes on EC2."""

from __future__ import annotations

from typing import Final

__version__: Final = "0.1.0"

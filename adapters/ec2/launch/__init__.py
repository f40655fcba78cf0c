"""Instances: launched, listed and terminated."""

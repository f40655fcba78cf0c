"""Launches of claims with EC2 Fleet: options, calls, steps and retries.

In: claims of a committed plan. Out: the next step of each launch. Used by FleetLauncher.
"""

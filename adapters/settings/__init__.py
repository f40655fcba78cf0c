"""The controller's settings, under the names that Karpenter's users know."""

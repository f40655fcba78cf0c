"""Kubernetes' own kinds, as far as they matter to scheduling. Fields we do not know are ignored."""

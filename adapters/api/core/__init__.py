"""Kubernetes' own kinds: the fields that matter to scheduling. Other fields are ignored."""

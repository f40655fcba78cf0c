"""Kinds of the group autoscaling.x-k8s.io, which several autoscalers share."""

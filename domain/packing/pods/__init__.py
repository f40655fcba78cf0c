"""Pods as classes of alike ones: what they ask for, at each relaxation level, and of other pods."""

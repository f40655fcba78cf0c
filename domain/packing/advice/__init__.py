"""Advice: what came nearest to placing a refused pod, and the smallest change that would place it."""

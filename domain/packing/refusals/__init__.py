"""Why pods could not be placed, pool by pool."""

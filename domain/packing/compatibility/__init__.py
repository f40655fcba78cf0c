"""What may run where, before any amount is looked at."""

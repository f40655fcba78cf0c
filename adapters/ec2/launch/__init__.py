"""How instances are bought, found again and given back."""

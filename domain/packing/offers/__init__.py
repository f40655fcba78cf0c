"""What could be bought: catalogues, pools and their limits as arrays and masks."""

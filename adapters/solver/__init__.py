"""Where packing is computed."""

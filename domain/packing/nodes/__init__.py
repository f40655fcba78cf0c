"""Planning of new nodes: how many, how large, and which pods share them."""

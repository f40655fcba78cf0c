"""Solvers: the packer on the calling thread, or in a process of its own."""

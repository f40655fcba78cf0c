"""The controller's process: the actors on threads, the world outside, and how the process lives and ends."""

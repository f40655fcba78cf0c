"""The kinds of treenail.sh: an account, and the head of a snapshot."""

"""The ports that others connect to: who is let in, how long each is waited for, and what is answered."""

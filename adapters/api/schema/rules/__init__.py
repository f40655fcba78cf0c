"""Rules that several kinds share: what translation refuses, said so that the API server refuses it first."""

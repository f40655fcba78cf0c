"""Rules that several kinds share. The API server refuses by them what translation would refuse later."""

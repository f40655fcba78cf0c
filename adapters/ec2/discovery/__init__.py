"""What there is to launch in an account and a region, asked of AWS and remembered for a while."""

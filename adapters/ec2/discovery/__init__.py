"""Discovery of what can be launched in an account and a region: asked of AWS, and cached for a while."""

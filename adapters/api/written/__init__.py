"""Objects of the domain as the API server would show them: plain mappings of JSON values."""

"""The custom resource definitions, made from the typed models."""

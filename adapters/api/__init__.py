"""The API objects we read: typed models of every kind and version, to and from the domain."""

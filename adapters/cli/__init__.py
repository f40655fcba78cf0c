"""The command line: the top, which wires everything together."""

"""TerminationActor, which sees nodes out, and the parts it is composed of."""

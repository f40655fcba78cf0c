"""FleetLauncher, which carries out committed plans, and the parts it is composed of."""

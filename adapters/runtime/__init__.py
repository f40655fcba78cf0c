"""What actors stand on in production: the time, timers, tasks and dice."""

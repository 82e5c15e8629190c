"""What of a score leaves the service: to whom, in which phase, how exactly."""

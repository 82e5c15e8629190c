"""From gold and predictions to figures, for service and commands."""

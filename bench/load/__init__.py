"""Load on a running service: annotators, teams and readers, up to saturation."""

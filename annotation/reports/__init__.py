"""Progress, workload and agreement."""

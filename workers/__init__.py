"""Everything that runs off the request. Importing this package imports nothing else."""

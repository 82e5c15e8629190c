"""One handler per kind of job."""

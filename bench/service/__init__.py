"""How long the service lets a submission wait, who waits for whom, and what a large file costs the web."""

"""The command line: score and compare local files."""

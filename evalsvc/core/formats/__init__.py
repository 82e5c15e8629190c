"""The customs house: every file format in and out, streamed, errors with line and code."""

"""The HTML door onto the verbs of this room."""

"""The JSON API of annotation."""

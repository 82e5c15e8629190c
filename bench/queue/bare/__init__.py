"""A bare application that only does the writes: four tables, two views."""

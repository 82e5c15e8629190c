"""The menu of measures and their options."""

"""Template tags for every page: formatting and layout."""

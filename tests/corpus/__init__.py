"""Files that are wrong, each in one way, with what the check of a file has to answer."""

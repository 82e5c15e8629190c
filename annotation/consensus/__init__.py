"""From counted answers to the state of an item."""

"""From settled items to a frozen test set."""

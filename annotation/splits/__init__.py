"""Parts of a test set that share no entity pair and no sentence, and what two files share."""

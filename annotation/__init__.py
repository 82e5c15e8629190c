"""From sentences and blind votes to frozen test sets."""

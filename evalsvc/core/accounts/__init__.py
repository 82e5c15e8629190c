"""People: users, teams, API tokens."""

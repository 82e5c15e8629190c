"""Pages for login, accounts, tokens, teams and invitations."""

"""The pages of people: getting in, their account, their teams, invitations, everyone."""

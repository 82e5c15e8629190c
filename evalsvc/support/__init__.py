"""Django's admin for support work: records to look up, almost none to change.

What people answered, gold, scores and secrets are not in it. What has a rule is changed on its own page, by
API or command; names and e-mail addresses have none, and administrators correct them here.
"""

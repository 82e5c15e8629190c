"""URLs of accounts, tokens, teams and invitations."""

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import path

from evalsvc.core.accounts.pages import account, invitations, login, teams
from evalsvc.core.web.unknown_names import PAGE_QUERIES

page_patterns = [
    path("login/", login.log_in, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("sign-up/", login.sign_up, name="sign-up"),
    path("join/<str:secret>/", login.join, name="join"),
    path("join/<str:secret>/accept/", login.accept, name="join-accept"),
    path("password/", login.reset, name="password-reset"),
    path("password/sent/", login.reset_sent, name="password-reset-sent"),
    path("password/<str:uidb64>/<str:token>/", login.reset_confirm, name="password-reset-confirm"),
    path("account/", account.account, name="account"),
    path("account/tokens/", account.new_own_token, name="account-token-new"),
    path("account/tokens/<int:pk>/", account.token, name="token"),
    path("account/tokens/<int:pk>/revoke/", account.revoke_own_token, name="account-token-revoke"),
    path("account/identities/<int:pk>/disconnect/", account.disconnect, name="account-disconnect"),
    path("people/", account.people, name="people"),
    path("invitations/", invitations.invite, name="invitation-new"),
    path("invitations/<int:pk>/", invitations.invitation, name="invitation"),
    path("invitations/<int:pk>/revoke/", invitations.revoke, name="invitation-revoke"),
    path("teams/new/", teams.new_team, name="team-new"),
    path("teams/<slug:slug>/members/", teams.members, name="team-members"),
    path("teams/<slug:slug>/members/<int:pk>/remove/", teams.remove_member, name="team-member-remove"),
    path("teams/<slug:slug>/tokens/", account.new_team_token, name="token-new"),
    path("teams/<slug:slug>/tokens/<int:pk>/revoke/", account.revoke_team_token, name="token-revoke"),
]
PAGE_QUERIES |= {
    "login": ("next", "refused"),
    "people": ("name", "page"),
    "team-new": ("benchmark",),
    "single-sign-on": ("next",),
    "single-sign-on-back": None,  # the provider adds what it likes
}
if settings.SINGLE_SIGN_ON:
    from evalsvc.core.accounts import single_sign_on

    page_patterns += single_sign_on.patterns

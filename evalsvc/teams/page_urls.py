"""Addresses of what people do about themselves and their teams; a team's runs are shown by evaluation."""

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.urls import path

from evalsvc.teams.pages import account, entering, everyone, inviting, teams

page_patterns = [
    path("login/", entering.log_in, name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("sign-up/", entering.sign_up, name="sign-up"),
    path("join/<str:secret>/", entering.join, name="join"),
    path("join/<str:secret>/accept/", entering.accept, name="join-accept"),
    path("password/", entering.reset, name="password-reset"),
    path("password/sent/", entering.reset_sent, name="password-reset-sent"),
    path("password/<str:uidb64>/<str:token>/", entering.reset_confirm, name="password-reset-confirm"),
    path("account/", account.account, name="account"),
    path("account/tokens/", account.new_token, name="account-token-new"),
    path("account/tokens/<int:pk>/", account.token, name="token"),
    path("account/tokens/<int:pk>/revoke/", account.revoke_token, name="account-token-revoke"),
    path("account/identities/<int:pk>/disconnect/", account.disconnect, name="account-disconnect"),
    path("people/", everyone.people, name="people"),
    path("invitations/", inviting.invite, name="invitation-new"),
    path("invitations/<int:pk>/", inviting.invitation, name="invitation"),
    path("invitations/<int:pk>/revoke/", inviting.revoke, name="invitation-revoke"),
    path("teams/new/", teams.new_team, name="team-new"),
    path("teams/<slug:slug>/members/", teams.members, name="team-members"),
    path("teams/<slug:slug>/members/<int:pk>/remove/", teams.remove_member, name="team-member-remove"),
    path("teams/<slug:slug>/tokens/", teams.new_token, name="token-new"),
    path("teams/<slug:slug>/tokens/<int:pk>/revoke/", teams.revoke_token, name="token-revoke"),
]
if settings.SINGLE_SIGN_ON:
    from evalsvc.teams import single_sign_on

    page_patterns += single_sign_on.patterns

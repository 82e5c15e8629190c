"""Members page: roles, additions, removals and invitations."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import projects, roles
from annotation.models import Member, Project
from annotation.pages.project_page import ActionForm, project_context, project_for
from annotation.reports import member_effects
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.users import person
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page, row_id, show_effect, submit

ADVICE = "Invite people without an account by a link."


class MemberForm(ActionForm):
    user = forms.CharField(
        label="User names",
        max_length=2_000,
        help_text="One or more, separated by spaces or commas, for example: ann, bob.",
    )
    role = forms.ChoiceField(choices=Member.Role.choices, initial=Member.Role.ANNOTATOR)

    def clean_user(self) -> list[User]:
        names = list(dict.fromkeys(self.cleaned_data["user"].replace(",", " ").split()))
        users = {user.username: user for user in get_user_model().objects.filter(username__in=names)}
        errors = [] if names else [forms.ValidationError("Enter at least one user name.", code="no_name")]
        for name in names:
            if name not in users:
                similar = get_user_model().objects.filter(username__iexact=name).first()
                advice = f"Did you mean {similar.username}?" if similar else ADVICE
                message = f"No user is named {name}. {advice}"
                errors.append(forms.ValidationError(message, code="unknown_user"))
        if errors:
            raise forms.ValidationError(errors)
        return [users[name] for name in names]

    def apply(self, project: Project, *, by: User) -> str:
        role = self.cleaned_data["role"]
        members = projects.set_members(project, users=self.cleaned_data["user"], role=role, by=by)
        names = ", ".join(member.user.shown_name for member in members)
        return f"Role saved for {names}: {role}."

    def effect(self, project: Project, *, by: User) -> member_effects.MemberEffect:
        users, role = self.cleaned_data["user"], self.cleaned_data["role"]
        return member_effects.of_role(project, users=users, role=role, by=by)


class RemovalForm(PageForm):
    OTHER_NAMES = ("remove",)
    confirmed = forms.BooleanField(required=False)


@page("GET", "POST", remove=("confirmed",))
def members(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    user = person(request)
    member, effect = None, None
    if removed := request.POST.get("remove"):
        member = project.members.select_related("user").filter(pk=row_id(removed)).first()
        removal = RemovalForm(request.POST)
        if member and removal.is_valid() and not removal.cleaned_data["confirmed"]:
            effect = member_effects.of_role(project, users=[member.user], role="", by=user)
        elif member:
            projects.remove_member(project, user=member.user, by=user)
            messages.info(request, f"{member.user.shown_name} removed. Their answers stay.")
        if effect is None:
            return redirect("project-members", slug)
    form = MemberForm(None if effect else request.POST or None)
    if request.POST.get("do") == "show":
        if form.is_valid() and (shown := attempt(form, lambda: form.effect(project, by=user), "user")):
            show_effect(request, shown)
    elif submit(request, form, lambda: form.apply(project, by=user), "user"):
        return redirect("project-members", slug)
    can_label = projects.annotator_count(project)
    context = project_context(
        project,
        role,
        form=form,
        listed=project.members.select_related("user").order_by("role", "user__username"),
        can_label=can_label,
        missing=project.k - can_label,
        leaving=member,
        effect=effect,
        **invitation_panel(projects.INVITATION_TARGET, project),
    )
    return render(request, "annotation/members.html", context)

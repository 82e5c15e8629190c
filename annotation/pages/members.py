"""Members page: roles, additions, removals and invitations."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import projects, roles
from annotation.models import Member, Project
from annotation.pages.project_page import project_context, project_for
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.users import person
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page, row_id


class MemberForm(PageForm):
    user = forms.CharField(
        label="User names",
        max_length=2_000,
        help_text="One or more, separated by spaces or commas, for example: ann, bob.",
    )
    role = forms.ChoiceField(choices=Member.Role.choices, initial=Member.Role.ANNOTATOR)

    def clean_user(self) -> list[User]:
        names = list(dict.fromkeys(self.cleaned_data["user"].replace(",", " ").split()))
        users = {user.username: user for user in get_user_model().objects.filter(username__in=names)}
        unknown = [_unknown_user(name) for name in names if name not in users]
        if unknown or not names:
            raise forms.ValidationError(unknown or ["Enter at least one user name."])
        return [users[name] for name in names]


def _unknown_user(name: str) -> str:
    """Return the message for an unknown name, suggesting one that differs in case."""
    similar = get_user_model().objects.filter(username__iexact=name).first()
    advice = "Invite people without an account by a link."
    return f"No user is named {name}. {f'Did you mean {similar.username}?' if similar else advice}"


@page("GET", "POST")
def members(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    removed = request.POST.get("remove")
    form = MemberForm(request.POST if request.method == "POST" and not removed else None)
    if removed:
        _remove(request, project, removed)
        return redirect("project-members", slug)
    if form.is_valid():
        users, new_role, by = form.cleaned_data["user"], form.cleaned_data["role"], person(request)
        added = attempt(
            form, lambda: projects.set_members(project, users=users, role=new_role, by=by), "user"
        )
        if added:
            names = ", ".join(member.user.shown_name for member in added)
            messages.info(request, f"Role saved for {names}: {new_role}.")
            return redirect("project-members", slug)
    can_label = projects.annotator_count(project)
    context = project_context(
        project,
        role,
        form=form,
        listed=project.members.select_related("user").order_by("role", "user__username"),
        can_label=can_label,
        missing=project.k - can_label,
        **invitation_panel(projects.INVITATION_TARGET, project),
    )
    return render(request, "annotation/members.html", context)


def _remove(request: HttpRequest, project: Project, pk: str) -> None:
    member = Member.objects.filter(project=project, pk=row_id(pk)).first()
    if member:
        projects.remove_member(project, user=member.user, by=person(request))
        messages.info(request, f"{member.user.shown_name} removed. Their answers stay.")

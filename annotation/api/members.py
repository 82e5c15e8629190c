"""API of a project's members, and of their removal with its effect first."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import projects, roles
from annotation.api.projects import project_of
from annotation.models import Member, Project
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import Pages, validated


class MemberSerializer(serializers.Serializer[Member]):
    username = serializers.CharField(source="user.username", max_length=150)
    name = serializers.CharField(source="user.shown_name", read_only=True)
    role = serializers.ChoiceField(choices=Member.Role.choices)


class RemovalSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    preview = serializers.BooleanField(default=False, help_text="Change nothing, only return the effect.")


class RemovalEffectSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField(help_text="Of this person; they stay and count.")
    decisions = serializers.IntegerField(help_text="Of this person; they stay and count.")
    reservations = serializers.IntegerField(help_text="Sentences that become free for others.")
    to_decide = serializers.IntegerField(help_text="Sentences that nobody else can answer.")
    can_label = serializers.IntegerField(help_text="Members who can label afterwards.")
    k = serializers.IntegerField(help_text="Answers that each sentence needs.")
    effect = serializers.CharField(help_text="The same in words.")


class ByRole(Pages):
    ordering = "id"


def curated(request: Request, slug: str) -> tuple[Project, User]:
    project, by = project_of(request, slug), person(request)
    roles.require(project, by, roles.CURATOR)
    return project, by


class Members(generics.ListAPIView[Member]):
    serializer_class = MemberSerializer
    pagination_class = ByRole

    def get_queryset(self) -> QuerySet[Member]:
        if getattr(self, "swagger_fake_view", False):
            return Member.objects.none()
        project, _ = curated(self.request, self.kwargs["slug"])
        return project.members.select_related("user")

    @extend_schema(
        operation_id="members_list",
        responses={200: MemberSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the members of a project. For its curators."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="members_set",
        request=MemberSerializer,
        responses={200: MemberSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a member to a project, or change a role. For its curators."""
        project, by = curated(request, slug)
        body = validated(request, MemberSerializer)
        name = body["user"]["username"]
        user = get_user_model().objects.filter(username=name).first()
        if user is None:
            raise DomainError("invalid_input", f"No user is named {name}.", field="username")
        member = projects.set_member(project, user=user, role=body["role"], by=by)
        return Response(MemberSerializer(member).data)


class RemoveMember(APIView):
    @extend_schema(
        operation_id="members_remove",
        request=RemovalSerializer,
        responses={200: RemovalEffectSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Remove a member, or preview that. Answers and decisions stay. For its curators."""
        project, by = curated(request, slug)
        body = validated(request, RemovalSerializer)
        member = project.members.select_related("user").filter(user__username=body["username"]).first()
        if member is None:
            raise Http404
        effect = projects.removal_effect(project, user=member.user, by=by)
        if not body["preview"]:
            projects.remove_member(project, user=member.user, by=by)
        return Response(RemovalEffectSerializer(asdict(effect) | {"effect": str(effect)}).data)

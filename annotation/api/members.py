"""API of a project's members, and of their removal with its effect first."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import projects
from annotation.api.lookups import curated
from annotation.models import Member
from annotation.reports import member_effects
from annotation.reports.member_effects import MemberEffect
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.pagination import Pages
from evalsvc.core.web.request_validation import validated


class MemberSerializer(serializers.Serializer[Member]):
    username = serializers.CharField(source="user.username", max_length=150)
    name = serializers.CharField(source="user.shown_name", read_only=True)
    role = serializers.ChoiceField(choices=Member.Role.choices)


class RemovalSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    preview = serializers.BooleanField(default=False, help_text="Change nothing, only return the effect.")


class MemberEffectSerializer(serializers.Serializer[MemberEffect]):
    answers = serializers.IntegerField(help_text="Of this person; they stay and count.")
    decisions = serializers.IntegerField(help_text="Of this person; they stay and count.")
    reservations = serializers.IntegerField(help_text="Sentences that become free for others.")
    to_decide = serializers.IntegerField(help_text="Sentences that nobody else can answer.")
    can_label = serializers.IntegerField(help_text="Members who can label afterwards.")
    can_decide = serializers.IntegerField(help_text="Members who can decide afterwards.")
    k = serializers.IntegerField(help_text="Answers that each sentence needs.")
    releases_ended = serializers.IntegerField(help_text="Releases of test sets to their own account.")
    releases_left = serializers.IntegerField(help_text="Releases to them, or by them to others, which stay.")
    effect = serializers.CharField(source="__str__", help_text="The same in words.")


class RoleSerializer(MemberSerializer):
    preview = serializers.BooleanField(
        default=False, write_only=True, help_text="Change nothing; `effect` states what would change."
    )
    effect = serializers.SerializerMethodField(help_text="Of a preview; else null.")

    @extend_schema_field(MemberEffectSerializer(allow_null=True))
    def get_effect(self, member: Member) -> dict[str, Any] | None:
        effect = self.context["effect"]
        return MemberEffectSerializer(effect).data if effect else None


class ByRole(Pages):
    ordering = "id"


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
        request=RoleSerializer,
        responses={200: RoleSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a member to a project, or change a role; or preview that. For its curators."""
        project, by = curated(request, slug)
        body = validated(request, RoleSerializer)
        name, role, effect = body["user"]["username"], body["role"], None
        user = get_user_model().objects.filter(username=name).first()
        if user is None:
            raise DomainError("invalid_input", f"No user is named {name}.", field="username")
        if body["preview"]:
            effect = member_effects.of_role(project, users=[user], role=role, by=by)
            stranger = Member(user=User(username=user.username), role="")  # whose name curators do not read
            member = project.members.filter(user=user).first() or stranger
        else:
            member = projects.set_member(project, user=user, role=role, by=by)
        return Response(RoleSerializer(member, context={"effect": effect}).data)


class RemoveMember(APIView):
    @extend_schema(
        operation_id="members_remove",
        request=RemovalSerializer,
        responses={200: MemberEffectSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Remove a member, or preview that. Answers and decisions stay. For its curators."""
        project, by = curated(request, slug)
        body = validated(request, RemovalSerializer)
        member = project.members.select_related("user").filter(user__username=body["username"]).first()
        if member is None:
            raise Http404
        effect = member_effects.of_role(project, users=[member.user], role="", by=by)
        if not body["preview"]:
            projects.remove_member(project, user=member.user, by=by)
        return Response(MemberEffectSerializer(effect).data)

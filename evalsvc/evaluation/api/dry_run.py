"""API of the check of a file that is not submitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts import login_throttle, users
from evalsvc.core.accounts.models import ApiToken
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.old_labels import mapped_in_words
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.web.files_parser import FilesParser
from evalsvc.core.web.formatting import count
from evalsvc.core.web.json_parser import StorableJSONParser
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.submissions import OLD_LABELS, MappedLabelSerializer
from evalsvc.evaluation.api.uploads import BYTES, FIELDS, FORM_FIELDS, UploadSerializer, names_of
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.submissions import intake
from evalsvc.evaluation.submissions.entry import check_declared
from evalsvc.evaluation.submissions.other_inputs import Submitter
from evalsvc.evaluation.submissions.request_body import tags_of, upload_of


class LineProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    line = serializers.IntegerField(required=False)
    field = serializers.CharField(required=False)
    found = serializers.CharField(required=False)
    expected = serializers.CharField(required=False)
    hint = serializers.CharField(required=False)
    example = serializers.CharField(required=False, help_text="A valid example.")
    message = serializers.CharField()


class CheckedSerializer(serializers.Serializer[Any]):
    fits = serializers.BooleanField()
    format = serializers.CharField(allow_blank=True)
    form = serializers.CharField(allow_blank=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    old_labels = serializers.DictField(child=MappedLabelSerializer(), help_text=OLD_LABELS)
    error_count = serializers.IntegerField()
    errors = LineProblemSerializer(many=True)  # type: ignore[assignment]
    errors_by_code = serializers.DictField(child=serializers.IntegerField())
    warnings = serializers.DictField(child=serializers.IntegerField())
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Mapped labels and warnings in words."
    )


class DryRun(APIView):
    for_teams = True
    parser_classes = [FilesParser, StorableJSONParser, FormParser]
    needs_scope = "submit"

    @extend_schema(
        operation_id="check",
        parameters=FIELDS,  # of a submission, so that the same request can be tried; phase matters
        request=BYTES | {"multipart/form-data": UploadSerializer},
        responses={200: CheckedSerializer} | problems(400, 401, 403, 404, 411, 413, 429),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Check a file without submitting it."""
        benchmark = roles.benchmark_for(request.user, slug)
        upload = upload_of(request, most=file_contract.limit(benchmark, "upload_bytes"), known=FORM_FIELDS)
        self._check_declared(request, benchmark, upload.fields)
        with login_throttle.check(request):
            checked = intake.check(
                benchmark,
                upload.chunks,
                phase=upload.fields.get("phase", ""),
                names=names_of(upload),
                by=Submitter(users.person(request), by_token=isinstance(request.auth, ApiToken)),
            )
        report = checked.problems.as_json()
        mapped = mapped_in_words(checked.old_labels, negative=benchmark.negative)
        warnings = [f"{count(n)} × {KINDS[code].message}" for code, n in report["warnings"].items()]
        return Response(
            {
                "fits": not report["total"],
                "format": checked.format,
                "form": checked.form,
                "counts": checked.counts,
                "old_labels": checked.old_labels,
                "error_count": report["total"],
                "errors": report["problems"],
                "errors_by_code": report["by_code"],
                "warnings": report["warnings"],
                "notes": [*([f"{mapped}."] if mapped else []), *warnings],
            }
        )

    @staticmethod
    def _check_declared(request: Request, benchmark: Benchmark, fields: Mapping[str, Any]) -> None:
        """Reject what a submission with the same fields would be rejected for; all are optional here."""
        bound = isinstance(request.auth, ApiToken) and request.auth.team_id
        if fields.get("team") or bound:
            roles.team_of(request, named=fields.get("team", ""))
        named = {name: fields[name].strip() for name in ("system", "run") if fields.get(name)}
        aggregate = fields.get("aggregate") or "ONE"
        check_declared(benchmark, **named, aggregate=aggregate, tags=tags_of(fields))

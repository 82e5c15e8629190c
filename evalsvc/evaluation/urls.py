"""URLs of the JSON API, below /api/v1/."""

from django.urls import path

from evalsvc.evaluation.api import benchmarks, status, submissions

api_patterns = [
    path("benchmarks", benchmarks.Benchmarks.as_view(), name="api-benchmarks"),
    path("benchmarks/<slug:slug>", benchmarks.OneBenchmark.as_view(), name="api-benchmark"),
    path("benchmarks/<slug:slug>/settings", benchmarks.Settings.as_view(), name="api-settings"),
    path("benchmarks/<slug:slug>/settings/<slug:key>", benchmarks.OneSetting.as_view(), name="api-setting"),
    path(
        "benchmarks/<slug:slug>/settings/<slug:key>/versions",
        benchmarks.Versions.as_view(),
        name="api-versions",
    ),
    path("benchmarks/<slug:slug>/settings/<slug:key>/inputs", benchmarks.Inputs.as_view(), name="api-inputs"),
    path("benchmarks/<slug:slug>/limits", benchmarks.BenchmarkLimits.as_view(), name="api-benchmark-limits"),
    path("benchmarks/<slug:slug>/board", benchmarks.OneBoard.as_view(), name="api-board"),
    path("benchmarks/<slug:slug>/submissions", submissions.Submissions.as_view(), name="api-submissions"),
    path("benchmarks/<slug:slug>/models", submissions.Models.as_view(), name="api-models"),
    path("benchmarks/<slug:slug>/check", submissions.DryRun.as_view(), name="api-check"),
    path("submissions/<int:pk>", submissions.OneSubmission.as_view(), name="api-submission"),
    path("submissions/<int:pk>/scores", submissions.Scores.as_view(), name="api-scores"),
    path("submissions/<int:pk>/cancel", submissions.Cancel.as_view(), name="api-submission-cancel"),
    path("submissions/<int:pk>/withdraw", submissions.Withdraw.as_view(), name="api-submission-withdraw"),
    path("measures", benchmarks.Measures.as_view(), name="api-measures"),
    path("status", status.Status.as_view(), name="api-status"),
    path("limits", benchmarks.Limits.as_view(), name="api-limits"),
]

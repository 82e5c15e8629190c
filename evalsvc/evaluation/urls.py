"""Addresses of evaluation's JSON door; the shell puts them under /api/v1/."""

from django.urls import path

from evalsvc.evaluation import api, api_models, api_submissions, status

api_patterns = [
    path("benchmarks", api.Benchmarks.as_view(), name="api-benchmarks"),
    path("benchmarks/<slug:slug>", api.OneBenchmark.as_view(), name="api-benchmark"),
    path("benchmarks/<slug:slug>/settings", api.Settings.as_view(), name="api-settings"),
    path("benchmarks/<slug:slug>/settings/<slug:key>", api.OneSetting.as_view(), name="api-setting"),
    path("benchmarks/<slug:slug>/settings/<slug:key>/versions", api.Versions.as_view(), name="api-versions"),
    path("benchmarks/<slug:slug>/settings/<slug:key>/inputs", api.Inputs.as_view(), name="api-inputs"),
    path("benchmarks/<slug:slug>/limits", api.BenchmarkLimits.as_view(), name="api-benchmark-limits"),
    path("benchmarks/<slug:slug>/board", api.OneBoard.as_view(), name="api-board"),
    path("benchmarks/<slug:slug>/submissions", api_submissions.Submissions.as_view(), name="api-submissions"),
    path("benchmarks/<slug:slug>/models", api_models.Models.as_view(), name="api-models"),
    path("benchmarks/<slug:slug>/check", api_submissions.DryRun.as_view(), name="api-check"),
    path("submissions/<int:pk>", api_submissions.OneSubmission.as_view(), name="api-submission"),
    path("submissions/<int:pk>/scores", api_submissions.Scores.as_view(), name="api-scores"),
    path("submissions/<int:pk>/cancel", api_submissions.Cancel.as_view(), name="api-submission-cancel"),
    path("submissions/<int:pk>/withdraw", api_submissions.Withdraw.as_view(), name="api-submission-withdraw"),
    path("measures", api.Measures.as_view(), name="api-measures"),
    path("status", status.Status.as_view(), name="api-status"),
    path("limits", api.Limits.as_view(), name="api-limits"),
]

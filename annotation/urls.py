"""Addresses of annotation's JSON door; the shell puts them under /api/v1/."""

from django.urls import path

from annotation import api, api_watch, api_words, api_work

api_patterns = [
    path("projects", api.Projects.as_view(), name="api-projects"),
    path("projects/<slug:slug>", api.OneProject.as_view(), name="api-project"),
    path("projects/<slug:slug>/imports", api.Imports.as_view(), name="api-imports"),
    path("imports/<int:pk>", api.OneImport.as_view(), name="api-import"),
    path("projects/<slug:slug>/ontology", api_words.Labels.as_view(), name="api-ontology"),
    path("projects/<slug:slug>/ontology/<int:pk>", api_words.OneLabel.as_view(), name="api-ontology-label"),
    path("projects/<slug:slug>/freeze", api.Freeze.as_view(), name="api-freeze"),
    path("test-sets", api.TestSets.as_view(), name="api-test-sets"),
    path("test-sets/<slug:slug>", api.OneTestSet.as_view(), name="api-test-set"),
    path("test-sets/<slug:slug>/lines", api.Lines.as_view(), name="api-test-set-lines"),
    path("projects/<slug:slug>/lease", api_work.NextLease.as_view(), name="api-lease"),
    path("projects/<slug:slug>/reserve", api_work.Reserve.as_view(), name="api-reserve"),
    path("leases/<int:pk>/heartbeat", api_work.Heartbeat.as_view(), name="api-lease-heartbeat"),
    path("leases/<int:pk>/return", api_work.Return.as_view(), name="api-lease-return"),
    path("items/<uuid:id>/answer", api_work.Answers.as_view(), name="api-answer"),
    path("items/<uuid:id>/skip", api_work.Skips.as_view(), name="api-skip"),
    path("projects/<slug:slug>/history", api_work.History.as_view(), name="api-history"),
    path("projects/<slug:slug>/disputes", api_work.Disputes.as_view(), name="api-disputes"),
    path("items/<uuid:id>/dispute", api_work.OneDispute.as_view(), name="api-dispute"),
    path("items/<uuid:id>/decision", api_work.Decision.as_view(), name="api-decision"),
    path("items/<uuid:id>/take-back", api_work.TakeBack.as_view(), name="api-take-back"),
    path("items/<uuid:id>/one-more", api_work.OneMore.as_view(), name="api-one-more"),
    path("projects/<slug:slug>/insight", api_watch.Insight.as_view(), name="api-insight"),
    path("projects/<slug:slug>/quality", api_watch.Quality.as_view(), name="api-quality"),
    path("projects/<slug:slug>/agreement", api_watch.Agreement.as_view(), name="api-agreement"),
    path("projects/<slug:slug>/judgments", api_watch.Judgments.as_view(), name="api-judgments"),
    path("annotators/<int:pk>/pause", api_watch.Pause.as_view(), name="api-annotator-pause"),
    path("annotators/<int:pk>/resume", api_watch.Resume.as_view(), name="api-annotator-resume"),
    path("annotators/<int:pk>/set-aside", api_watch.SetAside.as_view(), name="api-annotator-set-aside"),
    path("annotators/<int:pk>/put-back", api_watch.PutBack.as_view(), name="api-annotator-put-back"),
]

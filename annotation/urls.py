"""URLs of the annotation API, below /api/v1/."""

from django.urls import path

from annotation.api import disputes, effects, items, labelling, labels, monitoring, projects, testsets

api_patterns = [
    path("projects", projects.Projects.as_view(), name="api-projects"),
    path("projects/<slug:slug>", projects.OneProject.as_view(), name="api-project"),
    path("projects/<slug:slug>/imports", projects.Imports.as_view(), name="api-imports"),
    path("imports/<int:pk>", projects.OneImport.as_view(), name="api-import"),
    path("projects/<slug:slug>/ontology", labels.Labels.as_view(), name="api-ontology"),
    path("projects/<slug:slug>/ontology/<int:pk>", labels.OneLabel.as_view(), name="api-ontology-label"),
    path("projects/<slug:slug>/freeze", testsets.Freeze.as_view(), name="api-freeze"),
    path("test-sets", testsets.TestSets.as_view(), name="api-test-sets"),
    path("test-sets/<slug:slug>", testsets.OneTestSet.as_view(), name="api-test-set"),
    path("test-sets/<slug:slug>/releases", testsets.Releases.as_view(), name="api-test-set-releases"),
    path("test-sets/<slug:slug>/lines", testsets.Lines.as_view(), name="api-test-set-lines"),
    path("projects/<slug:slug>/lease", labelling.NextLease.as_view(), name="api-lease"),
    path("projects/<slug:slug>/reserve", labelling.Reserve.as_view(), name="api-reserve"),
    path("leases/<int:pk>/heartbeat", labelling.Heartbeat.as_view(), name="api-lease-heartbeat"),
    path("leases/<int:pk>/return", labelling.Return.as_view(), name="api-lease-return"),
    path("items/<uuid:id>/answer", labelling.Answers.as_view(), name="api-answer"),
    path("items/<uuid:id>/skip", labelling.Skips.as_view(), name="api-skip"),
    path("projects/<slug:slug>/history", labelling.History.as_view(), name="api-history"),
    path("projects/<slug:slug>/disputes", disputes.Disputes.as_view(), name="api-disputes"),
    path("projects/<slug:slug>/items", items.Items.as_view(), name="api-items"),
    path("projects/<slug:slug>/items.csv", items.ItemTable.as_view(), name="api-items-csv"),
    path("projects/<slug:slug>/comments", disputes.Comments.as_view(), name="api-comments"),
    path("items/<uuid:id>/dispute", disputes.OneDispute.as_view(), name="api-dispute"),
    path("items/<uuid:id>/decision", disputes.Decision.as_view(), name="api-decision"),
    path("items/<uuid:id>/take-back", disputes.TakeBack.as_view(), name="api-take-back"),
    path("items/<uuid:id>/one-more", disputes.OneMore.as_view(), name="api-one-more"),
    path("projects/<slug:slug>/insight", monitoring.Insight.as_view(), name="api-insight"),
    path("projects/<slug:slug>/log", projects.ProjectLog.as_view(), name="api-project-log"),
    path("projects/<slug:slug>/effects", effects.Effects.as_view(), name="api-project-effects"),
    path("projects/<slug:slug>/quality", monitoring.Quality.as_view(), name="api-quality"),
    path("projects/<slug:slug>/agreement", monitoring.Agreement.as_view(), name="api-agreement"),
    path("projects/<slug:slug>/judgments", monitoring.Judgments.as_view(), name="api-judgments"),
    path("annotators/<int:pk>/pause", monitoring.Pause.as_view(), name="api-annotator-pause"),
    path("annotators/<int:pk>/resume", monitoring.Resume.as_view(), name="api-annotator-resume"),
    path("annotators/<int:pk>/set-aside", monitoring.SetAside.as_view(), name="api-annotator-set-aside"),
    path("annotators/<int:pk>/put-back", monitoring.PutBack.as_view(), name="api-annotator-put-back"),
]

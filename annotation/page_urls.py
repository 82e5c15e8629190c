"""Addresses of the pages of annotation."""

from django.urls import path

from annotation.pages import (
    agreement,
    deciding,
    imports,
    inventory,
    labelling,
    progress,
    projects,
    quality,
    releases,
)

page_patterns = [
    path("label/", labelling.index, name="label-index"),
    path("label/<slug:slug>/", labelling.label, name="label"),
    path("projects/", projects.index, name="projects"),
    path("projects/new/", projects.new, name="project-new"),
    path("projects/<slug:slug>/", projects.overview, name="project"),
    path("projects/<slug:slug>/import/", imports.project_import, name="project-import"),
    path("imports/<int:pk>/", imports.batch, name="import"),
    path("projects/<slug:slug>/ontology/", inventory.inventory, name="ontology"),
    path("projects/<slug:slug>/members/", projects.members, name="project-members"),
    path("projects/<slug:slug>/guideline/", projects.guideline, name="project-guideline"),
    path("projects/<slug:slug>/quality/", quality.quality, name="project-quality"),
    path("projects/<slug:slug>/annotators/<int:pk>/", quality.annotator, name="annotator"),
    path("projects/<slug:slug>/disputes/", deciding.index, name="disputes"),
    path("projects/<slug:slug>/disputes/<int:item_pk>/", deciding.dispute, name="dispute"),
    path("projects/<slug:slug>/progress/", progress.progress, name="progress"),
    path("projects/<slug:slug>/progress/days.svg", progress.days_drawn, name="progress-days-svg"),
    path("projects/<slug:slug>/progress/days.csv", progress.days_csv, name="progress-days-csv"),
    path("projects/<slug:slug>/progress/people.csv", progress.people_csv, name="progress-people-csv"),
    path("projects/<slug:slug>/progress/labels.csv", progress.labels_csv, name="progress-labels-csv"),
    path("projects/<slug:slug>/otherwise/", progress.other_policy, name="otherwise"),
    path("projects/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("projects/<slug:slug>/agreement/pairs.svg", agreement.pairs_svg, name="agreement-svg"),
    path("projects/<slug:slug>/agreement/pairs.csv", agreement.pairs_csv, name="agreement-pairs"),
    path("projects/<slug:slug>/agreement/relations.csv", agreement.relations_csv, name="agreement-relations"),
    path("projects/<slug:slug>/judgments.jsonl", agreement.judgments, name="judgments"),
    path("projects/<slug:slug>/freeze/", releases.freeze, name="freeze"),
    path("test-sets/", releases.index, name="test-sets"),
    path("test-sets/import/", imports.test_set_import, name="test-set-import"),
    path("test-sets/<slug:slug>/", releases.test_set, name="test-set"),
    path("test-sets/<slug:slug>/lines.jsonl", releases.lines, name="test-set-lines"),
]

"""URLs of the pages, and of the JSON API below /api/v1/."""

from django.urls import path

from evalsvc.core.web.downloads import stored_nowhere
from evalsvc.core.web.unknown_names import PAGE_QUERIES, SEVERAL
from evalsvc.evaluation.api import benchmarks, comparisons, dry_run, limits, scores, settings, status
from evalsvc.evaluation.api import boards as api_boards
from evalsvc.evaluation.api import contributed as api_contributed
from evalsvc.evaluation.api import entrants as api_entrants
from evalsvc.evaluation.api import moves as api_moves
from evalsvc.evaluation.api import oversight as api_oversight
from evalsvc.evaluation.api import reported as api_reported
from evalsvc.evaluation.api import submissions as api_submissions
from evalsvc.evaluation.pages import (
    boards,
    compare,
    contributed,
    entrants,
    errors,
    feed,
    moves,
    organise,
    oversight,
    reported,
    saved_views,
    saved_views_api,
    submissions,
    submit,
    system,
    tables_api,
    team,
)

RUNS = ("team", "phase", "state", "since", "until", "before")
VIEW = ("setting", "version", "order", "columns", "team", "tag", "since", "until")
COMPARED = ("setting", "systems", "a", "b")
ERRORS = ("setting", "a", "b", "text", "line", "order", "kind", "who", "label", "low", "high", "item", "page")
SCORES = ("setting", "of", "order")
PAGE_QUERIES |= {
    "boards": ("page",),
    "board": (*VIEW, "page", "systems"),
    "board-csv": ("setting", "version", "order"),
    "board-json": ("setting", "version", "order"),
    "board-view-file": (*VIEW, "page", "table"),
    "board-views": (*VIEW, "page"),
    "board-ranks": ("setting",),
    "board-announcements": ("page",),
    "board-entrants": ("state",),
    "board-entrants-csv": ("state",),
    "board-runs": RUNS,
    "board-runs-csv": RUNS,
    "board-compare": COMPARED,
    "board-compare-file": (*COMPARED, "table"),
    "board-errors": ERRORS,
    "board-errors-file": (*ERRORS, "table"),
    "version-moves-file": ("table",),
    "board-inputs": ("phase",),
    "board-log": ("page",),
    "system": ("setting", "order"),
    "system-file": ("setting", "order", "table"),
    "submit": ("phase",),
    "submissions": ("before",),
    "submission": SCORES,
    "submission-state": SCORES,
    "submission-curve-svg": ("setting",),
    "submission-curve-csv": ("setting",),
    "team": ("show", "before", "benchmark"),
}

SEVERAL |= {
    "board": ("columns", "systems"),
    "board-view-file": ("columns",),
    "board-views": ("columns",),
    "board-compare": ("systems",),
    "board-compare-file": ("systems",),
    "board-errors": ("kind",),
    "board-errors-file": ("kind",),
    "board-new": ("test_sets",),
    "board-organise": ("baselines",),
    "setting-new": ("measures",),
    "setting-change": ("measures",),
    "setting-revise": ("measures",),
}

page_patterns = [
    path("boards/", boards.boards, name="boards"),
    path("boards/new/", organise.new_board, name="board-new"),
    path("boards/<slug:slug>/", boards.board_page, name="board"),
    path("boards/<slug:slug>/board.csv", boards.board_csv, name="board-csv"),
    path("boards/<slug:slug>/board.json", boards.board_json, name="board-json"),
    path("boards/<slug:slug>/view.<slug:format>", boards.view_file, name="board-view-file"),
    path("boards/<slug:slug>/views/", saved_views.views_page, name="board-views"),
    path("boards/<slug:slug>/views/<int:pk>/", saved_views.view_page, name="board-saved-view"),
    path("boards/<slug:slug>/feed.atom", feed.board_feed, name="board-feed"),
    path("boards/<slug:slug>/measures/", contributed.measures_page, name="board-measures"),
    path("boards/<slug:slug>/take-part/", entrants.take_part, name="board-take-part"),
    path("boards/<slug:slug>/entrants/", stored_nowhere(entrants.entrants_page), name="board-entrants"),
    path("boards/<slug:slug>/entrants.csv", stored_nowhere(entrants.entrants_csv), name="board-entrants-csv"),
    path("boards/<slug:slug>/runs/", entrants.runs_page, name="board-runs"),
    path("boards/<slug:slug>/runs.csv", entrants.runs_csv, name="board-runs-csv"),
    path("boards/<slug:slug>/announcements/", entrants.announcements_page, name="board-announcements"),
    path("boards/<slug:slug>/archive.zip", entrants.archive, name="board-archive"),
    path("boards/<slug:slug>/compare/", compare.compare_page, name="board-compare"),
    path("boards/<slug:slug>/compare.<slug:format>", compare.compare_file, name="board-compare-file"),
    path("boards/<slug:slug>/errors/", stored_nowhere(errors.errors_page), name="board-errors"),
    path(
        "boards/<slug:slug>/errors.<slug:format>",
        stored_nowhere(errors.errors_file),
        name="board-errors-file",
    ),
    path("boards/<slug:slug>/systems/<int:pk>/", system.system_page, name="system"),
    path("boards/<slug:slug>/systems/<int:pk>/system.<slug:format>", system.system_file, name="system-file"),
    path("boards/<slug:slug>/schemes.svg", boards.ranks_svg, name="board-ranks"),
    path("boards/<slug:slug>/inputs/", boards.all_inputs, name="board-inputs"),
    path("boards/<slug:slug>/people/", oversight.people, name="board-people"),
    path("boards/<slug:slug>/organise/", organise.organise, name="board-organise"),
    path("boards/<slug:slug>/ledger/", oversight.ledger, name="board-ledger"),
    path("boards/<slug:slug>/log/", oversight.log, name="board-log"),
    path("boards/<slug:slug>/log.csv", oversight.log_csv, name="board-log-csv"),
    path("boards/<slug:slug>/change/", organise.change_board, name="board-change"),
    path("boards/<slug:slug>/settings/new/", organise.new_setting, name="setting-new"),
    path("boards/<slug:slug>/settings/<slug:key>/", boards.setting_page, name="setting"),
    path("boards/<slug:slug>/settings/<slug:key>/inputs/", boards.inputs_file, name="setting-inputs"),
    path("boards/<slug:slug>/settings/<slug:key>/change/", organise.change_setting, name="setting-change"),
    path("boards/<slug:slug>/settings/<slug:key>/revise/", organise.revise_setting, name="setting-revise"),
    path(
        "boards/<slug:slug>/settings/<slug:key>/versions/<int:number>/",
        stored_nowhere(moves.moves_page),
        name="version-moves",
    ),
    path(
        "boards/<slug:slug>/settings/<slug:key>/versions/<int:number>/moves.<slug:format>",
        stored_nowhere(moves.moves_file),
        name="version-moves-file",
    ),
    path("boards/<slug:slug>/settings/<slug:key>/reported/", reported.reported_page, name="setting-reported"),
    path("boards/<slug:slug>/submit/", submit.submit, name="submit"),
    path("status/", status.page, name="status"),
    path("submissions/", submissions.index, name="submissions"),
    path("submissions/<int:pk>/", submissions.page, name="submission"),
    path("submissions/<int:pk>/state/", submissions.state, name="submission-state"),
    path("submissions/<int:pk>/cancel/", submissions.cancel, name="submission-cancel"),
    path("submissions/<int:pk>/retry/", submissions.retry, name="submission-retry"),
    path("submissions/<int:pk>/final/", submissions.choose_final, name="submission-final"),
    path("submissions/<int:pk>/withdraw/", submissions.withdraw, name="submission-withdraw"),
    path("submissions/<int:pk>/file/", submissions.file, name="submission-file"),
    path("submissions/<int:pk>/curve.svg", submissions.curve_svg, name="submission-curve-svg"),
    path("submissions/<int:pk>/curve.csv", submissions.curve_csv, name="submission-curve-csv"),
    path("teams/<slug:slug>/", team.team_page, name="team"),
]

api_patterns = [
    path("benchmarks", benchmarks.Benchmarks.as_view(), name="api-benchmarks"),
    path("benchmarks/<slug:slug>", benchmarks.OneBenchmark.as_view(), name="api-benchmark"),
    path("benchmarks/<slug:slug>/settings", settings.Settings.as_view(), name="api-settings"),
    path("benchmarks/<slug:slug>/settings/<slug:key>", settings.OneSetting.as_view(), name="api-setting"),
    path(
        "benchmarks/<slug:slug>/settings/<slug:key>/versions",
        settings.Versions.as_view(),
        name="api-versions",
    ),
    path("benchmarks/<slug:slug>/settings/<slug:key>/inputs", settings.Inputs.as_view(), name="api-inputs"),
    path(
        "benchmarks/<slug:slug>/settings/<slug:key>/versions/<int:number>/moves",
        stored_nowhere(api_moves.VersionMoves.as_view()),
        name="api-version-moves",
    ),
    path(
        "benchmarks/<slug:slug>/settings/<slug:key>/reported",
        api_reported.ReportedFigures.as_view(),
        name="api-reported",
    ),
    path(
        "benchmarks/<slug:slug>/settings/<slug:key>/reported/<int:pk>/remove",
        api_reported.RemoveReported.as_view(),
        name="api-reported-remove",
    ),
    path("benchmarks/<slug:slug>/old-names", benchmarks.OldNames.as_view(), name="api-old-names"),
    path("benchmarks/<slug:slug>/inputs", benchmarks.AllInputs.as_view(), name="api-benchmark-inputs"),
    path("benchmarks/<slug:slug>/limits", limits.BenchmarkLimits.as_view(), name="api-benchmark-limits"),
    path("benchmarks/<slug:slug>/view", tables_api.BoardView.as_view(), name="api-board-view"),
    path("benchmarks/<slug:slug>/views", saved_views_api.SavedViews.as_view(), name="api-saved-views"),
    path(
        "benchmarks/<slug:slug>/views/<int:pk>", saved_views_api.OneSavedView.as_view(), name="api-saved-view"
    ),
    path(
        "benchmarks/<slug:slug>/views/<int:pk>/remove",
        saved_views_api.RemoveSavedView.as_view(),
        name="api-saved-view-remove",
    ),
    path("benchmarks/<slug:slug>/systems/<int:pk>", tables_api.SystemTables.as_view(), name="api-system"),
    path("benchmarks/<slug:slug>/errors", stored_nowhere(tables_api.Errors.as_view()), name="api-errors"),
    path("benchmarks/<slug:slug>/board", api_boards.OneBoard.as_view(), name="api-board"),
    path(
        "benchmarks/<slug:slug>/measures",
        api_contributed.ContributedMeasures.as_view(),
        name="api-benchmark-measures",
    ),
    path(
        "benchmarks/<slug:slug>/measures/<slug:name>/<int:version>",
        api_contributed.OneContributedMeasure.as_view(),
        name="api-benchmark-measure",
    ),
    path(
        "benchmarks/<slug:slug>/measures/<slug:name>/<int:version>/retire",
        api_contributed.RetireMeasure.as_view(),
        name="api-benchmark-measure-retire",
    ),
    path("benchmarks/<slug:slug>/entry", api_entrants.Entry.as_view(), name="api-entry"),
    path("benchmarks/<slug:slug>/terms", api_entrants.BenchmarkTerms.as_view(), name="api-terms"),
    path(
        "benchmarks/<slug:slug>/entrants",
        stored_nowhere(api_entrants.Entrants.as_view()),
        name="api-entrants",
    ),
    path(
        "benchmarks/<slug:slug>/entrants/<slug:team>", api_entrants.OneEntrant.as_view(), name="api-entrant"
    ),
    path(
        "benchmarks/<slug:slug>/announcements",
        api_entrants.Announcements.as_view(),
        name="api-announcements",
    ),
    path(
        "benchmarks/<slug:slug>/announcements/<int:pk>/remove",
        api_entrants.RemoveAnnouncement.as_view(),
        name="api-announcement-remove",
    ),
    path("benchmarks/<slug:slug>/archive", api_entrants.Archive.as_view(), name="api-archive"),
    path("benchmarks/<slug:slug>/compare", comparisons.Comparisons.as_view(), name="api-compare"),
    path(
        "benchmarks/<slug:slug>/compare/cancel",
        comparisons.CancelComparison.as_view(),
        name="api-compare-cancel",
    ),
    path("benchmarks/<slug:slug>/log", api_oversight.BenchmarkLog.as_view(), name="api-benchmark-log"),
    path("benchmarks/<slug:slug>/ledger", api_oversight.Ledgers.as_view(), name="api-ledger"),
    path("benchmarks/<slug:slug>/submissions", api_submissions.Submissions.as_view(), name="api-submissions"),
    path("benchmarks/<slug:slug>/models", api_submissions.Models.as_view(), name="api-models"),
    path("benchmarks/<slug:slug>/check", dry_run.DryRun.as_view(), name="api-check"),
    path("submissions/<int:pk>", api_submissions.OneSubmission.as_view(), name="api-submission"),
    path("submissions/<int:pk>/scores", scores.Scores.as_view(), name="api-scores"),
    path("submissions/<int:pk>/cancel", api_submissions.Cancel.as_view(), name="api-submission-cancel"),
    path("submissions/<int:pk>/retry", api_submissions.Retry.as_view(), name="api-submission-retry"),
    path("submissions/<int:pk>/final", api_submissions.ChooseFinal.as_view(), name="api-submission-final"),
    path("submissions/<int:pk>/withdraw", api_submissions.Withdraw.as_view(), name="api-submission-withdraw"),
    path("measures", benchmarks.Measures.as_view(), name="api-measures"),
    path("status", status.Status.as_view(), name="api-status"),
    path("limits", limits.Limits.as_view(), name="api-limits"),
]

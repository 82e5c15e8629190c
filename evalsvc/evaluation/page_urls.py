"""URLs of the pages of boards and submissions."""

from django.urls import path

from evalsvc.evaluation.api import status
from evalsvc.evaluation.pages import boards, organise, organisers, settings, submissions, submit, team

page_patterns = [
    path("boards/", boards.boards, name="boards"),
    path("boards/new/", organise.new_board, name="board-new"),
    path("boards/<slug:slug>/", boards.page, name="board"),
    path("boards/<slug:slug>/board.csv", boards.board_csv, name="board-csv"),
    path("boards/<slug:slug>/board.json", boards.board_json, name="board-json"),
    path("boards/<slug:slug>/schemes.svg", boards.ranks_svg, name="board-ranks"),
    path("boards/<slug:slug>/people/", organisers.people, name="board-people"),
    path("boards/<slug:slug>/organise/", organise.organise, name="board-organise"),
    path("boards/<slug:slug>/change/", organise.change_board, name="board-change"),
    path("boards/<slug:slug>/settings/new/", organise.new_setting, name="setting-new"),
    path("boards/<slug:slug>/settings/<slug:key>/", settings.setting_page, name="setting"),
    path("boards/<slug:slug>/settings/<slug:key>/inputs/", settings.inputs_file, name="setting-inputs"),
    path("boards/<slug:slug>/settings/<slug:key>/change/", organise.change_setting, name="setting-change"),
    path("boards/<slug:slug>/settings/<slug:key>/revise/", organise.revise_setting, name="setting-revise"),
    path("boards/<slug:slug>/submit/", submit.submit, name="submit"),
    path("status/", status.page, name="status"),
    path("submissions/", submissions.index, name="submissions"),
    path("submissions/<int:pk>/", submissions.page, name="submission"),
    path("submissions/<int:pk>/state/", submissions.state, name="submission-state"),
    path("submissions/<int:pk>/cancel/", submissions.cancel, name="submission-cancel"),
    path("submissions/<int:pk>/withdraw/", submissions.withdraw, name="submission-withdraw"),
    path("submissions/<int:pk>/curve.svg", submissions.curve_svg, name="submission-curve-svg"),
    path("submissions/<int:pk>/curve.csv", submissions.curve_csv, name="submission-curve-csv"),
    path("teams/<slug:slug>/", team.team_page, name="team"),
]

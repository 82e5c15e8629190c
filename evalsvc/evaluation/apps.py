"""App configuration of evaluation."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evalsvc.evaluation"
    label = "evaluation"

    def ready(self) -> None:
        from annotation.testset import register_board_moves, register_use
        from evalsvc.core.accounts import invitations
        from evalsvc.core.jobs.kinds import Kind, register, register_periodic
        from evalsvc.evaluation import roles
        from evalsvc.evaluation.boards import stored_boards
        from evalsvc.evaluation.comparison import board_tests, compared, moves
        from evalsvc.evaluation.disclosure import gold_digest
        from evalsvc.evaluation.reported import entries
        from evalsvc.evaluation.submission_states import follow
        from evalsvc.evaluation.submissions import file_store

        register(Kind("score", queue="score", on_change=follow))
        register(Kind("check", queue="ingest", on_change=follow))
        register(Kind("predict", queue="heavy", on_change=follow))
        register(Kind(stored_boards.KIND, queue="ingest"))
        register(Kind(compared.KIND, queue="heavy", later=True))
        register(Kind(compared.PARTS, queue="heavy", later=True))
        register(Kind(board_tests.KIND, queue="heavy", on_change=board_tests.follow, later=True))
        register(Kind(entries.KIND, queue="ingest"))
        invitations.register(roles.INVITATION_TARGET)
        register_use("settings", gold_digest.count_hiding)
        register_board_moves(moves.between)
        file_store.register()
        compared.register()
        register_periodic("unused files", file_store.tick)
        register_periodic("stored boards", stored_boards.queue_outdated)
        register_periodic("tests of boards", board_tests.queue_outdated)

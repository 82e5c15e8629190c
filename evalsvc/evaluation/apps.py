"""The Django app of this room."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evalsvc.evaluation"
    label = "evaluation"

    def ready(self) -> None:
        from evalsvc.core.accounts import invitations
        from evalsvc.core.jobs import periodic
        from evalsvc.core.jobs.kinds import Kind, register
        from evalsvc.evaluation.benchmarks import organisers
        from evalsvc.evaluation.submission_states import follow
        from evalsvc.evaluation.submissions import file_store

        register(Kind("score", queue="score", follow=follow))
        register(Kind("check", queue="ingest", follow=follow))
        register(Kind("predict", queue="heavy", follow=follow))
        invitations.register(organisers.INVITATION_TARGET)
        periodic.register("unused files", file_store.tick)

"""The Django app of this room."""

from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evalsvc.evaluation"
    label = "evaluation"

    def ready(self) -> None:
        from evalsvc.evaluation import keeping, organisers
        from evalsvc.evaluation.lifecycle import follow
        from evalsvc.jobs import ticks
        from evalsvc.jobs.kinds import Kind, register
        from evalsvc.teams import places

        register(Kind("score", queue="score", follow=follow))
        register(Kind("check", queue="ingest", follow=follow))
        register(Kind("predict", queue="heavy", follow=follow))
        places.register(organisers.PLACE)
        ticks.register("unused files", keeping.tick)

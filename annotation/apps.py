"""The Django app of this room; its kinds of work."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import agreeing, assignment, freezing, importing, inviting
        from evalsvc.jobs import ticks
        from evalsvc.jobs.kinds import Kind, register
        from evalsvc.teams import places

        register(Kind("import", "ingest", importing.follow))
        register(Kind("freeze", "heavy", freezing.follow))
        register(Kind("describe", "heavy"))
        register(Kind("recompute", "heavy"))
        register(Kind("agreement", "heavy", agreeing.follow))
        ticks.register("leases", assignment.expire)
        places.register(inviting.PLACE)

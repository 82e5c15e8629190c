"""The Django app of annotation; its kinds of jobs."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import candidate_choices, conversion, projects
        from annotation.consensus import pending_recomputation
        from annotation.freezing import builder
        from annotation.imports import batches
        from annotation.models.item import merge_item_counts
        from annotation.queue import lease_endings
        from annotation.reports import agreement, vote_figures
        from annotation.splits import companions, making, mapping
        from evalsvc.core.accounts import invitations
        from evalsvc.core.jobs.kinds import Kind, register, register_periodic
        from evalsvc.core.upkeep.registry import register_check

        register(Kind("import", "ingest", batches.mirror_job, require=batches.require_asker))
        register(Kind("freeze", "heavy", builder.mirror_job, require=builder.require_asker))
        register(Kind(making.KIND, "heavy", builder.mirror_job, require=making.require_asker))
        register(Kind(mapping.KIND, "heavy", builder.mirror_job, require=mapping.require_asker))
        register(Kind("describe", "heavy"))
        register(Kind(companions.KIND, "heavy"))
        register(Kind(conversion.KIND, "heavy"))
        register(Kind("recompute", "ingest"))
        register(
            Kind(
                candidate_choices.KIND,
                "heavy",
                candidate_choices.mirror_job,
                require=candidate_choices.require_asker,
            )
        )
        register(Kind(vote_figures.KIND, "heavy"))
        register(Kind("agreement", "heavy", agreement.mirror_job))
        register_periodic("leases", lease_endings.expire_overdue)
        register_periodic("item counts", merge_item_counts)
        register_periodic("vote figures", vote_figures.queue_outdated)
        batches.register()
        register_check("candidates", candidate_choices.check_stuck)
        register_check("recomputation", pending_recomputation.check_pending)
        invitations.register(projects.INVITATION_TARGET)

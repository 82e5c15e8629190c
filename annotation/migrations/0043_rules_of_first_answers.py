"""The labels and the rule under which people first answered, in place of those under which people were called."""

from django.db import migrations, models
from django.db.models import Exists, Max, OuterRef

LOGGED = ("rule", "overlapping spans", "answers asked again", "answers count again")
DROP = "ALTER TABLE annotation_item DROP COLUMN extended_under"
ADD = "ALTER TABLE annotation_answer ADD COLUMN first_rules varchar(60) NOT NULL DEFAULT ''"


def store(apps, schema_editor):
    """Store the present ones where the person first answered after they last changed."""
    models = {name: apps.get_model("annotation", name).objects for name in ("Project", "Answer", "Vote")}
    for project in models["Project"].iterator():
        answers = models["Answer"].filter(item__project=project, vote__batch=None)
        if changed_at := _changed_at(apps, project):
            own = models["Vote"].filter(item=OuterRef("item"), annotator=OuterRef("annotator"))
            answers = answers.exclude(Exists(own.filter(at__lte=changed_at)))
        key = f"{project.inventory_stamp} {project.policy} {project.spans_may_overlap}"
        answers.update(first_rules=key)


def _changed_at(apps, project):
    steps = apps.get_model("annotation", "OntologyStep").objects.filter(project=project)
    log = apps.get_model("activity", "LogEntry").objects.filter(area="project", subject=project.pk)
    times = [
        *steps.aggregate(Max("at"), Max("undone_at")).values(),
        *log.filter(action__in=LOGGED).aggregate(Max("at")).values(),
    ]
    return max(filter(None, times), default=None)


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0042_no_held_places"),
        ("activity", "0001_initial"),
    ]

    operations = [
        # by hand: Django makes new tables on SQLite for both, without the triggers of the old ones
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    DROP,
                    "ALTER TABLE annotation_item ADD COLUMN extended_under varchar(60) NOT NULL DEFAULT ''",
                ),
                migrations.RunSQL(ADD, "ALTER TABLE annotation_answer DROP COLUMN first_rules"),
            ],
            state_operations=[
                migrations.RemoveField(model_name="item", name="extended_under"),
                migrations.AddField(
                    model_name="answer",
                    name="first_rules",
                    field=models.CharField(
                        db_default="",
                        default="",
                        help_text="Labels and rule as the person first answered the item; empty if unknown.",
                        max_length=60,
                    ),
                ),
            ],
        ),
        migrations.RunPython(store, migrations.RunPython.noop),
    ]

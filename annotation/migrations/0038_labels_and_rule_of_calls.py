"""The labels and the rule under which people are wanted beyond k, for calls to come."""

from django.db import migrations, models

ADD = "ALTER TABLE annotation_item ADD COLUMN extended_under varchar(60) NOT NULL DEFAULT ''"


def store(apps, schema_editor):
    projects, items = (apps.get_model("annotation", name).objects for name in ("Project", "Item"))
    for project in projects.iterator():
        key = f"{project.inventory_stamp} {project.policy} {project.spans_may_overlap}"
        items.filter(project=project, extra__gt=0).update(extended_under=key)


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0037_calls_that_stand"),
    ]

    operations = [
        # by hand: Django makes a new table on SQLite for it, without the triggers of the old one
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(ADD, "ALTER TABLE annotation_item DROP COLUMN extended_under")
            ],
            state_operations=[
                migrations.AddField(
                    model_name="item",
                    name="extended_under",
                    field=models.CharField(
                        db_default="",
                        default="",
                        help_text="Labels and rule as people were first wanted beyond k.",
                        max_length=60,
                    ),
                ),
            ],
        ),
        migrations.RunPython(store, migrations.RunPython.noop),
    ]

"""Items of which a place came free while a recomputation waited."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0040_answers_under_decisions"),
    ]

    operations = [
        # by hand: Django makes a new table on SQLite for it, without the triggers of the old one
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE annotation_item ADD COLUMN held boolean NOT NULL DEFAULT FALSE",
                    "ALTER TABLE annotation_item DROP COLUMN held",
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name="item",
                    name="held",
                    field=models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="More are wanted since a recomputation waits; free then.",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(condition=models.Q(("held", True)), fields=["project"], name="item_held"),
        ),
    ]

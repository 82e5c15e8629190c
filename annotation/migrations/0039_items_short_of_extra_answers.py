"""An index of the items that wait for answers beyond k."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0038_labels_and_rule_of_calls"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("extra__gt", 0), ("free__gt", 0)), fields=["project"], name="item_extended"
            ),
        ),
    ]

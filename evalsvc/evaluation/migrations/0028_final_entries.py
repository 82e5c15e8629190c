"""Final entries by phase; what was chosen before holds in every phase of its run."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


def keep_chosen(apps, schema_editor):
    FinalEntry = apps.get_model("evaluation", "FinalEntry")
    Submission = apps.get_model("evaluation", "Submission")
    chosen = Submission.objects.filter(final_at__isnull=False).values_list("pk", "phase", "final_at")
    FinalEntry.objects.bulk_create(
        FinalEntry(submission_id=pk, phase=each, at=at)
        for pk, phase, at in chosen
        for each in (("dev", "test") if phase == "both" else (phase,))
    )


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0027_claims_as_texts")]

    operations = [
        migrations.CreateModel(
            name="FinalEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("phase", models.CharField(blank=True, help_text="dev or test; empty: without phases.", max_length=4)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="finals", to="evaluation.submission"
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="finalentry",
            constraint=models.UniqueConstraint(fields=("submission", "phase"), name="chosen_once_in_a_phase"),
        ),
        migrations.AlterField(
            model_name="submission",
            name="final_at",
            field=models.DateTimeField(
                help_text="When its team last chose it as final, in whichever phase.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="setting",
            name="row_rule",
            field=models.CharField(
                default="mean",
                help_text="Runs a row shows: mean, latest, entry, final, best:KEY of a setting.",
                max_length=50,
            ),
        ),
        migrations.RunPython(keep_chosen, migrations.RunPython.noop),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0033_first_answers'),
        ('evaluation', '0035_stored_bytes'),
    ]

    operations = [
        migrations.AddField(
            model_name='benchmark',
            name='training_set',
            field=models.ForeignKey(help_text='Where they were counted; NULL: they came in a file.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.testset'),
        ),
    ]

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0004_columns'),
    ]

    operations = [
        migrations.AddField(
            model_name='setting',
            name='share',
            field=models.FloatField(help_text='Split: share of the units scored while open; null: all.', null=True),
        ),
        migrations.AddField(
            model_name='setting',
            name='share_seed',
            field=models.CharField(blank=True, default='', help_text='Split: secret seed of the draw.', max_length=64),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='setting',
            name='rest_of',
            field=models.OneToOneField(help_text='Split: the setting with the share; this one scores the rest.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='rest', to='evaluation.setting'),
        ),
    ]

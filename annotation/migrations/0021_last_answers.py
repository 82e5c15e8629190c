"""The newest answer of each item; triggers keep it in the transaction of each change."""

import django.db.models.deletion
from django.db import migrations, models

NEWEST = """INSERT INTO annotation_lastanswer (item_id, project_id, vote)
    SELECT item.id, item.project_id, MAX(answer.vote_id)
    FROM {answers} answer JOIN annotation_item item ON item.id = answer.item_id
    WHERE {which} GROUP BY item.id, item.project_id
    ON CONFLICT (item_id) DO UPDATE SET vote = {greatest}"""
OF_ITEM = {"answers": "annotation_answer", "greatest": "excluded.vote"}
REMOVE = "DELETE FROM annotation_lastanswer WHERE item_id = OLD.item_id"


def sqlite_triggers():
    again = NEWEST.format(which="answer.item_id = NEW.item_id", **OF_ITEM)
    rest = NEWEST.format(which="answer.item_id = OLD.item_id", **OF_ITEM)
    yield f"CREATE TRIGGER answers_added AFTER INSERT ON annotation_answer BEGIN {again}; END"
    yield f"CREATE TRIGGER answers_changed AFTER UPDATE OF vote_id ON annotation_answer BEGIN {again}; END"
    yield f"CREATE TRIGGER answers_removed AFTER DELETE ON annotation_answer BEGIN {REMOVE}; {rest}; END"


def postgresql_triggers():
    """Whoever changes the answers of an item has locked it."""
    greatest = "GREATEST(annotation_lastanswer.vote, excluded.vote)"
    added = NEWEST.format(answers="changed", which="true", greatest=greatest)
    again = NEWEST.format(which="answer.item_id = NEW.item_id", **OF_ITEM)
    rest = NEWEST.format(which="answer.item_id = OLD.item_id", **OF_ITEM)
    yield f"""CREATE FUNCTION keep_last_answer() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'INSERT' THEN
            {added};
        ELSIF TG_OP = 'UPDATE' THEN
            {again};
        ELSE
            {REMOVE};
            {rest};
        END IF;
        RETURN NULL;
    END $$"""
    yield """CREATE TRIGGER answers_added AFTER INSERT ON annotation_answer
        REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_last_answer()"""
    yield """CREATE TRIGGER answers_changed AFTER UPDATE ON annotation_answer FOR EACH ROW
        WHEN (OLD.vote_id IS DISTINCT FROM NEW.vote_id) EXECUTE FUNCTION keep_last_answer()"""
    yield """CREATE TRIGGER answers_removed AFTER DELETE ON annotation_answer
        FOR EACH ROW EXECUTE FUNCTION keep_last_answer()"""


def fill(apps, editor):
    editor.execute(NEWEST.format(which="true", **OF_ITEM))
    for statement in sqlite_triggers() if editor.connection.vendor == "sqlite" else postgresql_triggers():
        editor.execute(statement)


def stop(apps, editor):
    postgresql = editor.connection.vendor == "postgresql"
    for name in ("answers_added", "answers_changed", "answers_removed"):
        editor.execute(f"DROP TRIGGER {name}" + (" ON annotation_answer" if postgresql else ""))
    if postgresql:
        editor.execute("DROP FUNCTION keep_last_answer")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0020_decisions_made_together")]
    operations = [
        migrations.CreateModel(
            name="LastAnswer",
            fields=[
                (
                    "item",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="last_answer",
                        serialize=False,
                        to="annotation.item",
                    ),
                ),
                ("vote", models.BigIntegerField(help_text="Its row number in the log: later ones are greater.")),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.project",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["project", "vote"], name="last_answers")]},
        ),
        migrations.RunPython(fill, stop, elidable=False),
    ]

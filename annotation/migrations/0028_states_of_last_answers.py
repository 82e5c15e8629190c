"""The state of each item beside its newest answer; triggers keep it, so that an index serves both."""

from importlib import import_module

from django.db import migrations, models

LAST = import_module("annotation.migrations.0021_last_answers")
COLUMNS = {
    "(item_id, project_id, vote)": "(item_id, project_id, vote, state)",
    "MAX(answer.vote_id)": "MAX(answer.vote_id), item.state",
    "GROUP BY item.id, item.project_id": "GROUP BY item.id, item.project_id, item.state",
}
FILL = """UPDATE annotation_lastanswer
    SET state = (SELECT item.state FROM annotation_item item WHERE item.id = annotation_lastanswer.item_id)"""
FOLLOW = "UPDATE annotation_lastanswer SET state = NEW.state WHERE item_id = NEW.id"


def with_state(statement):
    for before, after in COLUMNS.items():
        statement = statement.replace(before, after)
    return statement


def statements(vendor):
    yield from map(with_state, LAST.sqlite_triggers() if vendor == "sqlite" else LAST.postgresql_triggers())
    if vendor == "sqlite":
        yield f"""CREATE TRIGGER states_of_last_answers AFTER UPDATE OF state ON annotation_item
            WHEN OLD.state <> NEW.state BEGIN {FOLLOW}; END"""
        return
    yield f"""CREATE FUNCTION keep_state_of_last_answer() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        {FOLLOW};
        RETURN NULL;
    END $$"""
    yield """CREATE TRIGGER states_of_last_answers AFTER UPDATE OF state ON annotation_item
        FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION keep_state_of_last_answer()"""


def begin(apps, editor):
    for statement in (FILL, *statements(editor.connection.vendor)):
        editor.execute(statement)


def end(apps, editor):
    postgresql = editor.connection.vendor == "postgresql"
    editor.execute("DROP TRIGGER states_of_last_answers" + (" ON annotation_item" if postgresql else ""))
    if postgresql:
        editor.execute("DROP FUNCTION keep_state_of_last_answer")
    LAST.stop(apps, editor)


def begin_as_before(apps, editor):
    sqlite = editor.connection.vendor == "sqlite"
    for statement in LAST.sqlite_triggers() if sqlite else LAST.postgresql_triggers():
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0027_drafts_of_plans")]
    operations = [
        migrations.RunPython(LAST.stop, begin_as_before, elidable=False),
        migrations.AddField("lastanswer", "state", models.CharField(default="", help_text="State of the item.", max_length=12)),
        migrations.AddIndex(
            "lastanswer", models.Index(fields=["project", "state", "vote"], name="last_answers_by_state")
        ),
        migrations.RunPython(begin, end, elidable=False),
    ]

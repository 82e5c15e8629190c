"""What an application with nothing but the writes costs: Django and gunicorn, four tables, two views."""

"""Settings of the service under faults: the product's, with fault points and quick passwords."""

from evalsvc.settings import *  # noqa: F403
from evalsvc.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.crash.points.PointsConfig"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

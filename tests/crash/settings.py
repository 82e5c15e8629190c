"""Settings of the service under faults: the product's, with fault points and quick passwords."""

from evalsvc.settings import *  # noqa: F403
from evalsvc.settings import INSTALLED_APPS, JOB_LEASE_SECONDS
from tests.crash import points

INSTALLED_APPS = [*INSTALLED_APPS, "tests.crash.points.PointsConfig"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if JOB_LEASE_SECONDS < 10:  # shortened as other pauses are, see points.install_without_models
    JOB_HEARTBEAT_SECONDS = JOB_LEASE_SECONDS / 4
points.install_without_models(JOB_LEASE_SECONDS)

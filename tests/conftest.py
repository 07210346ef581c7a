"""Settings for all tests: no test may fail because the machine is slow."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "timesink", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("timesink")

"""``no-anomaly``: autograd's anomaly detection, left on from debugging, is switched off."""

from __future__ import annotations

from timesink.experiments.interventions.base import Kind, Recorder


def install(value: str, recorder: Recorder) -> None:
    """Ignore every wish to switch it on."""
    import torch

    switch = torch.set_anomaly_enabled

    def refused(mode: bool, check_nan: bool = True) -> None:
        if mode:
            recorder.changed("wish for anomaly detection")
        switch(False, check_nan)

    setattr(torch, "set_anomaly_enabled", refused)  # noqa: B010 - looked up there by torch
    if torch.is_anomaly_enabled():
        switch(False)
        recorder.changed("switch")


KIND = Kind(
    name="no-anomaly",
    takes="",
    summary="autograd's anomaly detection off",
    nothing="the script does not switch anomaly detection on",
    may_change="NaN gradients are no longer reported.",
    numerics="exact",
    code="torch.autograd.set_detect_anomaly(False)",
    install=install,
)

"""Who owns a nanosecond of a step: the closed list of categories of the step breakdown.

Every nanosecond of a step's wall time has exactly one owner, chosen by the order of this enum:
device work first (while it runs the host is hidden behind it), then what the host does while the
device is idle or absent. The definition of *exposed* communication and copies (not hidden by
compute) is that of Holistic Trace Analysis and of the TensorBoard profiler plugin's step view.
"""

from __future__ import annotations

from enum import Enum


class Owner(str, Enum):
    """Owners in order of priority, highest first."""

    DEVICE_COMPUTE = "device compute"
    EXPOSED_COMMUNICATION = "exposed communication"
    EXPOSED_COPIES = "exposed copies"
    DATA_LOADING = "data loading"
    SYNC_WAIT = "synchronisation wait"
    RUNTIME = "runtime/launch"
    OPTIMIZER = "optimizer"
    FORWARD = "forward operators"
    BACKWARD = "backward operators"
    GARBAGE_COLLECTION = "garbage collection"
    CHECKPOINT_IO = "checkpoint/IO"
    OTHER_PYTHON = "other Python"

    @property
    def slug(self) -> str:
        """``data_loading``: its name in JSON and in conditions."""
        return "".join(c if c.isalnum() else "_" for c in self.value.lower())


DEVICE_OWNERS = (Owner.DEVICE_COMPUTE, Owner.EXPOSED_COMMUNICATION, Owner.EXPOSED_COPIES)
HOST_OWNERS = tuple(o for o in Owner if o not in DEVICE_OWNERS)


class Phase(str, Enum):
    """The part of a training step a host row belongs to: its outermost recognised ancestor.

    data: inside ``enumerate(DataLoader)#``; optimizer: inside ``Optimizer.step#``/``zero_grad#``;
    backward: inside ``autograd::engine::evaluate_function`` or on an autograd thread;
    io: inside a checkpoint mark; forward: any other operator; other: not an operator.
    """

    DATA = "data"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    IO = "io"
    OTHER = "other"


#: Ranges that ``timesink run`` itself puts into the trace, so that analyses can see what torch
#: does not annotate. They are removed from the list of the user's own ranges.
MARK_PREFIX = "timesink::"
MARK_LINE = "timesink::line"  #: followed by "#file(line): function;…", the innermost first
MARK_STEP = "timesink::step"  #: followed by "#N"
MARK_CHECKPOINT = "timesink::checkpoint"  #: torch.save / torch.load
MARK_GC = "timesink::gc"  #: one Python garbage collection

"""``python -m timesink``: the same as the ``timesink`` command (for ``torchrun -m timesink``)."""

from timesink.cli import main

if __name__ == "__main__":
    main()

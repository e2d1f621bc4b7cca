"""The ``hambo`` command: ``hambo``, which the package installs, and ``python -m hambo``."""

import signal
import sys


def main() -> int:
    """Do what the command line asks for, and return the exit code."""
    # The command sees to signals by itself, as it does when it is a program of its own. Until it has begun, Ctrl-C
    # ends the process, as it would then.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ._native import command

    return command(["hambo", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

"""What can go wrong.

Every exception that hambo raises by itself is a `HamboError`, and also the built-in exception that one
would expect. What a policy or another function of yours raises comes out as it is.
"""

from __future__ import annotations

__all__ = [
    "DataError",
    "ExistingFileError",
    "ExpressionError",
    "FileError",
    "FitError",
    "HamboError",
    "MissingFileError",
    "OnnxError",
    "SettingError",
    "SuppliedError",
]


class HamboError(Exception):
    """The common base of all errors of this package."""


class DataError(HamboError, ValueError):
    """Logged data that cannot be used; the message says where it is wrong."""


class SettingError(HamboError, ValueError):
    """An argument or a setting that is out of its range, or missing."""


class SuppliedError(HamboError, ValueError):
    """A policy, reward, termination or start returned something of the wrong shape or value."""


class OnnxError(HamboError, ValueError):
    """An ONNX file that cannot be used; the message says how to export a better one."""


class ExpressionError(HamboError, ValueError):
    """A text that is not an expression over the data's columns."""


class FitError(HamboError, ArithmeticError):
    """Fitting went wrong numerically."""


class FileError(HamboError, OSError):
    """A file that cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class ExistingFileError(FileError, FileExistsError):
    """There is such a file already, and it is not overwritten."""

"""What is raised where something given cannot be used."""

LONGEST_REASON = 200  # characters of another library's message


class InputError(ValueError):
    """Something given to settwister cannot be used.

    The message is one sentence: what was given, what was expected, what to do. The command line prints it
    and exits with code 2.
    """


class DivergedError(InputError):
    """A training whose loss is no longer a number."""


class UnfinishedError(InputError):
    """Some of what was asked for came to nothing; the rest was done."""


def reason(error: BaseException) -> str:
    r"""Another library's message in one line, without what a terminal would take for commands.

    >>> reason(ValueError("no \x1b[2J such\n  column."))
    'no �[2J such column'
    """
    words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    words = "".join(letter if letter.isprintable() else "\ufffd" for letter in words)
    return words if len(words) <= LONGEST_REASON else words[:LONGEST_REASON] + "…"

"""A line on stderr while something takes longer than a second."""
import contextlib
import sys
import threading
import time

AFTER = 1.0    # seconds before anything is said


@contextlib.contextmanager
def said(what, wanted=None):
    """Says "cleave: what ... 3 s" every second, and takes it back at the end.
    Unless `wanted` says yes or no, only where stderr is a terminal."""
    out = sys.stderr    # whoever replaces it meanwhile keeps torch quiet, not us
    terminal = out is not None and out.isatty()
    if out is None or not (terminal if wanted is None else wanted):
        yield
        return
    done = threading.Event()
    line = threading.Thread(target=_count, args=(what, done, out, terminal),
                            daemon=True)
    line.start()
    try:
        yield
    finally:
        done.set()
        line.join()


def _count(what, done, out, terminal):
    start, spoke = time.monotonic(), False
    while not done.wait(AFTER):
        spoke = True
        text = f"cleave: {what} ... {time.monotonic() - start:.0f} s"
        out.write(f"\r{text}" if terminal else f"{text}\n")
        out.flush()
    if spoke and terminal:
        out.write("\r\033[K")
        out.flush()

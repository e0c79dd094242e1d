"""py_check.py - the harness of tests/py: checks that count, and the summary
line tests/run reads."""
import contextlib
import sys
import traceback

passed = failed = skipped = 0


def check(ok, what):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        frame = sys._getframe(1)
        print(f"FAIL {frame.f_code.co_filename}:{frame.f_lineno}: {what}")


def equal(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def skip(why):
    global skipped
    skipped += 1
    print(f"SKIP {why}")


@contextlib.contextmanager
def raises(kind, text):
    try:
        yield
    except kind as e:
        check(text in str(e), f"message {str(e)!r} has no {text!r}")
    else:
        check(False, f"no {kind.__name__}: {text}")


def main(tests):
    """Runs every function called test_*; an exception fails one of them."""
    global failed
    for name, test in list(tests.items()):
        if name.startswith("test_"):
            try:
                test()
            except Exception:
                failed += 1
                print(f"FAIL {name}")
                traceback.print_exc(file=sys.stdout)
    print(f"# {passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)

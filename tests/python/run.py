"""Runs one file of unittest cases, or all of a folder, and ends with the line that `cargo xtask test` counts.

    python run.py clients/triton_http.py
    python run.py ../../python/stead_package
"""

import importlib.util
import os
import sys
import unittest


def cases(path):
    """The test cases of a file, or of the files `test*.py` in the packages of a folder."""
    if os.path.isdir(path):
        return unittest.defaultTestLoader.discover(path)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def main():
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(cases(sys.argv[1]))
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    failed = len(result.failures) + len(result.errors)
    # A class whose server does not start is one failure and no test that ran.
    passed = max(0, result.testsRun - failed - len(result.skipped))
    print(f"{passed} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

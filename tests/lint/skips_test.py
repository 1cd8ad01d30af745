"""A test that was skipped is counted and named in the last lines of scripts/test; one whose program is missing fails."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.environ["SWAMP_SOURCE_ROOT"]  # set by meson

PROGRAM = """
import sys
sys.path.insert(0, %r)
import unittest
import swamp_test

class Mixed(unittest.TestCase):
    def test_that_passes(self):
        pass

    @unittest.skip("needs root")
    def test_that_lacks_a_right(self):
        self.fail()

    def test_that_lacks_a_program(self):
        swamp_test.find_program("%s")

swamp_test.main()
"""


class Skips(unittest.TestCase):
    def play(self, needed):
        """A program with tests, one of which needs another program, and what scripts/test says of it in the end."""
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "mixed.py"), "w", encoding="utf-8") as file:
                file.write(PROGRAM % (os.path.join(ROOT, "tests", "system"), needed))
            done = subprocess.run([sys.executable, "-B", file.name], capture_output=True, text=True,
                                  env={**os.environ, "SWAMP_PROGRAM": "none"}, check=False)
            result = {0: "OK", 77: "SKIP"}.get(done.returncode, "FAIL")
            log = os.path.join(folder, "testlog.json")
            with open(log, "w", encoding="utf-8") as file:
                json.dump({"name": "swamp:system / mixed", "result": result, "duration": 1.0, "stdout": done.stdout}, file)
            said = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts", "summary.py"), log, "--stages", "", ""],
                                  capture_output=True, text=True, check=False)
            return done.stdout, said.stdout, said.returncode

    def test_one_skipped_beside_others_that_passed_is_counted_and_named(self):
        _, said, code = self.play("sh")
        self.assertIn("skipped: system/mixed: Mixed.test_that_lacks_a_right: needs root", said)
        self.assertEqual(said.splitlines()[-1], "1 passed, 0 failed, 1 skipped")
        self.assertEqual(code, 0)

    def test_a_program_that_is_missing_is_a_failure_that_says_how_to_get_it(self):
        printed, said, code = self.play("no-such-program")
        self.assertIn("no-such-program is not installed: scripts/packages --full", printed)
        self.assertEqual(said.splitlines()[-1], "0 passed, 1 failed, 1 skipped")
        self.assertEqual(code, 1)


unittest.main(verbosity=2)

#!/usr/bin/env python3
"""What reasons.py, given as the argument, repeats of failed tests before ctest's summary."""

import subprocess
import sys
import unittest

OUTPUT = """\
      Start 1: a.one
1/3 Test #1: a.one .............***Failed    0.10 sec
[ RUN      ] a.one
foo.cc:12: Failure
Expected equality
  1
      Start 2: a.two
2/3 Test #2: a.two .............   Passed    0.10 sec
3/3 Test #3: a.three ...........***Timeout  600.10 sec
the last line of a.three

33% tests passed, 2 tests failed out of 3
"""


def through(text):
    return subprocess.run([sys.executable, PROGRAM], input=text, capture_output=True, text=True, check=True).stdout


class Reasons(unittest.TestCase):
    def test_repeats_the_failed_assertion_and_the_last_lines_before_the_summary(self):
        shown = through(OUTPUT)
        body, summary = OUTPUT[: OUTPUT.index("33%")], OUTPUT[OUTPUT.index("33%") :]
        self.assertTrue(shown.startswith(body) and shown.endswith(summary), shown)
        self.assertEqual(
            shown[len(body) : -len(summary)],
            "Why tests failed:\n\n"
            "a.one: Failed    0.10 sec\n    foo.cc:12: Failure\n    Expected equality\n      1\n\n"
            "a.three: Timeout  600.10 sec\n    the last line of a.three\n\n",
        )

    def test_knows_the_form_of_nodes_tests(self):
        shown = through("1/1 Test #1: web ...***Failed  0.10 sec\nok 1 - a\nnot ok 2 - b\n  why\n0% tests passed\n")
        self.assertIn("Why tests failed:\n\nweb: Failed  0.10 sec\n    not ok 2 - b\n      why\n", shown)

    def test_changes_nothing_if_all_pass(self):
        passed = "1/1 Test #1: a.two ....   Passed    0.10 sec\n\n100% tests passed, 0 tests failed out of 1\n"
        self.assertEqual(through(passed), passed)

    def test_shows_at_most_twelve_lines_of_a_test_and_ten_tests(self):
        many = "".join(
            f"{i}/11 Test #{i}: t{i} ...***Failed  0.10 sec\n" + "".join(f"{i} line {k}\n" for k in range(40))
            for i in range(1, 12)
        )
        shown = through(many + "0% tests passed, 11 tests failed out of 11\n")[len(many) :]
        self.assertEqual([line for line in shown.splitlines() if line.startswith("    10 ")],
                         [f"    10 line {k}" for k in range(28, 40)])
        self.assertNotIn("t11", shown)
        self.assertIn("and 1 more; their output is above", shown)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()

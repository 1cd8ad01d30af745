"""Ends scripts/test: each suite's tests and time, then how many tests passed, failed and were skipped, by meson's logs.

summary.py LOG... --stages PASSED FAILED     the names of stages, which count as a test each
"""
import json
import re
import sys

# tests/system/swamp_test.py prints this of a test of a program that has many
SKIPPED = re.compile(r"^skipped +[0-9.]+ s  (?:__main__\.)?(\S+): (.*)$", re.M)


def skips_of(test, name):
    """(test, reason) of what was skipped in a program; of one without tests of its own its last line is the reason."""
    skips = SKIPPED.findall(test.get("stdout", ""))
    if not skips and test["result"] == "SKIP":
        lines = test.get("stdout", "").split("\n")
        skips = [("", next((line for line in reversed(lines) if line), "no reason given"))]
    return [(name + (": " + one if one else ""), why) for one, why in skips]


def read_results(path):
    with open(path) as log:
        for line in log:
            test = json.loads(line)
            # "project:suite+narrower suite / test"
            suites, _, name = test["name"].rpartition(" / ")
            suite = suites.split(":")[-1].split("+")[0] or "other"
            result = test["result"]
            kind = "passed" if result in ("OK", "EXPECTEDFAIL") else "skipped" if result == "SKIP" else "failed"
            yield suite, kind, test["duration"], name, skips_of(test, name)


def say(counts):
    return "{passed} passed, {failed} failed, {skipped} skipped".format(**counts)


def main():
    split = sys.argv.index("--stages")
    logs, stages = sys.argv[1:split], sys.argv[split + 1:]
    total = {"passed": len(stages[0].split()), "failed": len(stages[1].split()), "skipped": 0}
    for number, path in enumerate(logs):
        suites = {}
        for suite, kind, seconds, name, skips in read_results(path):
            row = suites.setdefault(suite, {"passed": 0, "failed": 0, "skipped": 0, "seconds": 0, "longest": (0, "")})
            row["seconds"] += seconds
            row["longest"] = max(row["longest"], (seconds, name))
            for counts in (row, total):
                counts[kind] += kind != "skipped"
                counts["skipped"] += len(skips)
            if kind == "failed":
                print(f"failed: {suite}/{name} ({path})")
            for skip, why in skips:
                print(f"skipped: {suite}/{skip}: {why} ({path})")
        if number == 0:
            for suite, row in sorted(suites.items()):
                print(f"   {suite:10} {row['seconds']:5.0f} s of tests side by side, the longest {row['longest'][0]:.0f} s "
                      f"({row['longest'][1]}); {say(row)}")
    print(say(total))
    return 0 if total["passed"] and not total["failed"] else 1


sys.exit(main())

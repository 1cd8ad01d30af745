"""Prints the last line of scripts/test: how many tests passed, failed and were skipped, by meson's own log."""
import json
import sys

counts = {"passed": 0, "failed": 0, "skipped": 0}
with open(sys.argv[1]) as log:
    for line in log:
        result = json.loads(line)["result"]
        if result in ("OK", "EXPECTEDFAIL"):
            counts["passed"] += 1
        elif result == "SKIP":
            counts["skipped"] += 1
        else:
            counts["failed"] += 1
print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
sys.exit(0 if counts["passed"] and not counts["failed"] else 1)

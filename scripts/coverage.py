"""Line coverage of libswamp/ by layer, from the counts that a build with --coverage left; fails below the bounds.

coverage.py BUILD [--lines]     --lines: also each file's lines that never ran
"""
import glob
import json
import os
import subprocess
import sys

BOUNDS = {"wire": 95, "run": 95, "server": 95, "session": 95}  # of each of these layers, in percent
BOUND = 90  # of all


def read_counts(build):
    """{path: {line: times it ran}}, of libswamp/ only. Each file is compiled once; a header's lines add up."""
    objects = sorted(glob.glob(os.path.join(build, "libswamp", "libswamp_core.a.p", "*.gcno")))
    done = subprocess.run(["gcov", "--json-format", "--stdout"] + [os.path.abspath(path) for path in objects], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=build, text=True)
    counts = {}
    for document in done.stdout.splitlines():
        for file in json.loads(document)["files"]:
            path = os.path.relpath(os.path.normpath(os.path.join(build, file["file"])))
            if not path.startswith("libswamp" + os.sep):
                continue
            lines = counts.setdefault(path, {})
            for line in file["lines"]:
                lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    return counts


def percent(lines):
    return 100 * sum(1 for count in lines if count) / max(1, len(lines))


def ranges(numbers):
    """1, 2, 3, 7 as "1-3 7"."""
    out = []
    for number in numbers:
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def main():
    counts = read_counts(sys.argv[1])
    layers = {}
    for path, lines in sorted(counts.items()):
        layers.setdefault(path.split(os.sep)[1], []).extend(lines.values())
        if "--lines" in sys.argv:
            never = sorted(line for line, count in lines.items() if not count)
            print(f"{path:40} {percent(lines.values()):5.1f} %  {ranges(never)}")
    ok = bool(counts)
    everything = [count for lines in layers.values() for count in lines]
    for name, lines, bound in [(name, layers[name], BOUNDS.get(name)) for name in layers] + [("libswamp", everything, BOUND)]:
        low = bound is not None and percent(lines) < bound
        ok = ok and not low
        wanted = f"at least {bound} %" if bound else ""
        print(f"{name:10} {len(lines):6} lines  {percent(lines):5.1f} %  {wanted}{': TOO FEW' if low else ''}")
    return 0 if ok else 1


sys.exit(main())

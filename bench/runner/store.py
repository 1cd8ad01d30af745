"""The SQLite store: commits and reads of several processes, and attaches that have to look a run up."""
import os
import tempfile

from .measure import median, ratios, spread


def commits(bench, _peers, report):
    rows = []
    for processes, rate in ((1, 0), (2, 0), (4, 0), (8, 0), (4, 200)) if bench.mode != "smoke" else ((4, 200),):
        (found,) = bench.in_turn(lambda: commit_once(bench, processes, rate))
        rows.append([processes, rate or "flat out", spread(found, "commits_per_second", 1, 0)] +
                    [spread(found, key) for key in ("commit_p50_us", "commit_p99_us", "get_p50_us", "get_p99_us")])
        if rate:
            report.figure(f"{processes} processes, {rate} commits/s each on one file: commit p99 ms",
                          spread(found, "commit_p99_us", 1e3, 2), goal="<= 10 ms", met=median(found, "commit_p99_us") <= 10000)
            report.figure("- get p99 ms", spread(found, "get_p99_us", 1e3, 3), goal="<= 1 ms",
                          met=median(found, "get_p99_us") <= 1000)
    report.detail("The SQLite store: commits of an admission (five operations) and reads, on one file",
                  ["processes", "rate of each", "commits/s", "commit p50, us", "commit p99, us", "get p50, us", "get p99, us"],
                  rows)


def commit_once(bench, processes, rate):
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return bench.result("store", "--path", os.path.join(folder, "store.db"), "--processes", processes, "--rate", rate,
                            "--seconds", 2 if bench.mode == "full" else 1)


def lookups(bench, _peers, report):
    """The files are filled once, by the first look-ups on them."""
    few, many = 10, bench.scale(100000, 100)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        def look(runs):
            return bench.result("lookups", "--path", os.path.join(folder, f"{runs}.db"), "--runs", runs, "--attaches",
                                bench.scale(800, 50))
        at_few, at_many = bench.in_turn(lambda: look(few), lambda: look(many))
    ratio = ratios(at_many, at_few, "attach_p50_us")
    report.compared(f"run.attach on a non-owner, {many:,} active runs in the store: p50 us", f"{few} runs", at_few, at_many,
                    "attach_p50_us", ratio=spread(ratio, "ratio", 1, 2), goal="the same time: <= 1.25",
                    met=median(ratio, "ratio") <= 1.25)
    report.compared("- p99 us", f"{few} runs", at_few, at_many, "attach_p99_us", 1, 0)
    report.compared("- reads of the store for one", f"{few} runs", at_few, at_many, "gets_an_attach", 1, 2, goal="<= 2",
                    met=median(at_many, "gets_an_attach") <= 2.01)


STEPS = [commits, lookups]

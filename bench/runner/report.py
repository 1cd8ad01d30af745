"""The one table of all figures, the tables of details behind it, and what they were measured on."""
import os
import platform
import subprocess
import time

from .measure import Failed, spread

HEAD = """# Results

Written by `bench/run`: medians of the rounds, and in brackets the least and the most. A ratio is that of one round, its two sides
measured one after the other. What each figure means, and how to get it alone: README.md.
"""


class Report:
    def __init__(self, root, part_names, judges):
        self.root, self.judges = root, judges
        self.rows, self.details, self.machine = {name: [] for name in part_names}, {name: [] for name in part_names}, []
        self.part, self.missing = None, 0

    def begin(self, part):
        self.part = part

    def figure(self, what, ours, goal="", met=None, beside="", ratio=""):
        """A row of the table; met: True, False, or None where there is no goal."""
        verdict = {True: "met", False: "**not met**"}.get(met, "") if self.judges else ""
        self.rows[self.part].append([what, beside, ours, ratio, goal, verdict])
        print(f"  {what}: {ours}" + (f" beside {beside}" if beside else "") + (f", ratio {ratio}" if ratio else "") +
              (f"; {goal} {verdict}" if goal else ""), flush=True)

    def compared(self, what, name, other, ours, key, unit=1.0, digits=1, **rest):
        """A row of two lists of results."""
        self.figure(what, spread(ours, key, unit, digits), beside=f"{name}: {spread(other, key, unit, digits)}", **rest)

    def attempt(self, step, *args):
        """One step of a part; where it fails, the others go on."""
        try:
            step(*args, self)
        except Failed as why:
            self.not_measured(f"{step.__name__.replace('_', ' ')}: what should follow here", str(why))

    def not_measured(self, what, why):
        self.missing += 1
        self.rows[self.part].append([what, "", "not measured", "", "", why])
        print(f"  {what}: not measured: {why}", flush=True)

    def detail(self, title, columns, rows):
        self.details[self.part].append((title, columns, rows))

    def describe(self, mode, rounds, peers):
        model = "unknown"
        with open("/proc/cpuinfo") as lines:
            model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
        load = os.getloadavg()
        dirty = "" if not output_of(self.root, "git", "status", "--porcelain", "--untracked-files=no") else ", with changes"
        self.machine = [
            f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}, commit "
            f"{output_of(self.root, 'git', 'rev-parse', '--short', 'HEAD')}{dirty}" + ("" if mode == "full" else f", `--{mode}`") +
            f"; rounds: {rounds}",
            f"{model}, {os.cpu_count()} cores, {os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 30} GiB, Linux "
            f"{platform.release()}; load average when it began {load[0]:.1f} {load[1]:.1f} {load[2]:.1f}" +
            (" (the machine was NOT idle)" if load[0] > 0.5 else ""),
            f"libwebsockets {version_of('libwebsockets')}, SQLite {version_of('sqlite3')}, "
            f"{output_of(self.root, 'cc', '--version')}",
            "peers: " + (", ".join(peers) or "none")]

    def end(self, seconds, faults):
        self.machine.append(f"took {seconds / 60:.0f} minutes; rounds that failed and are left out: {len(faults)}" +
                            (f" ({'; '.join(sorted(set(faults)))})" if faults else ""))

    def text(self):
        lines = [HEAD, *(f"- {line}" for line in self.machine), ""]
        lines += ["| figure | measured beside it | library | ratio | goal | |", "|---|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for rows in self.rows.values() for row in rows]
        for tables in self.details.values():
            for title, columns, rows in tables:
                lines += ["", f"## {title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
                lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
        return "\n".join(lines) + "\n"


def output_of(folder, *command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=folder)
        return done.stdout.strip().split("\n")[0]
    except OSError:
        return "unknown"


def version_of(package):
    return output_of("/", "pkg-config", "--modversion", package).rstrip("-")

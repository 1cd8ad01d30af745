"""Where the CPU time of a fan-out goes: perf on all threads of the server but the one that emits."""
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from .fan_out import full_log
from .measure import median, spread

VIEWERS, EVENTS, TOP = 100, 60000, 5


def profile(bench, _peers, report):
    what = f"CPU profile, {VIEWERS} viewers, 200 bytes, the network thread: share of the kernel, %"
    if bench.mode == "smoke":
        return
    if not shutil.which("perf"):
        report.not_measured(what, "perf is not here: apt-get install linux-perf")
        return
    rounds = [each for each in (sample(bench) for _ in range(bench.rounds)) if each]
    if not rounds:
        report.not_measured(what, "perf took no samples here")
        return
    kernel = [{"kernel": sum(share for share, mode, _ in rows if mode == "k")} for rows in rounds]
    report.figure(what, spread(kernel, "kernel"), goal=">= 70 %", met=median(kernel, "kernel") >= 70)
    report.detail("The first user functions of that profile", ["%", "function", "of"], first_user_functions(rounds))


def first_user_functions(rounds):
    """By the median of their shares."""
    names = {where for rows in rounds for _, mode, where in rows if mode == "."}
    shares = {where: statistics.median(sum(share for share, mode, it in rows if (mode, it) == (".", where)) for rows in rounds)
              for where in names}
    return [(f"{share:.2f}", *where) for where, share in sorted(shares.items(), key=lambda item: -item[1])[:TOP]]


def sample(bench):
    """One profile: (share, k or ., (function, of))."""
    events = bench.scale(EVENTS)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        samples = os.path.join(folder, "perf.data")
        with bench.server("server", "--events", events, *full_log(events)) as (process, port, runs):
            threads = [name for name in os.listdir(f"/proc/{process.pid}/task") if int(name) != process.pid]
            perf = subprocess.Popen(["perf", "record", "-q", "-F", "999", "-o", samples, "-t", ",".join(threads)],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                time.sleep(0.5)  # nothing says when perf has begun
                bench.load(port, runs[0], "--server", process.pid, "--viewers", VIEWERS, "--events", events,
                           "--after", events)
            finally:
                perf.send_signal(signal.SIGINT)
                perf.wait()
        listed = subprocess.run(["perf", "report", "-i", samples, "--stdio", "--sort", "dso,sym"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True).stdout
    rows = re.findall(r"^\s*([\d.]+)%\s+(\S+)\s+\[(.)\]\s+(\S+)", listed, re.M)
    return [(float(share), mode, (name, where)) for share, where, mode, name in rows]


STEPS = [profile]

"""Starts a server, lets a load on it, and keeps what both print; medians, ranges and ratios of such results."""
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time

PATIENCE_S = 300


class Failed(Exception):
    """A program of a measurement failed: the figure stays without a number, and says why."""


class Bench:
    """Where the programs are, and how much is measured: 'full', 'quick' or 'smoke'."""

    def __init__(self, build, peers_folder, mode):
        self.build, self.peers_folder, self.mode = build, peers_folder, mode
        self.rounds = 5 if mode == "full" else 1
        self.faults = []  # why rounds failed: they count for nothing, and RESULTS.md says so

    def scale(self, number, least=1):
        """The number of a full run, or as much less as the mode wants."""
        part = {"full": 1, "quick": 4, "smoke": 1000}[self.mode]
        return max(min(least, number), number // part)

    def crowd(self, viewers):
        """So many viewers, but few in a smoke run."""
        return min(viewers, 20) if self.mode == "smoke" else viewers

    def program(self, name):
        return os.path.join(self.build, name)

    def result(self, name, *args):
        """The JSON object that a program prints."""
        try:
            done = subprocess.run([self.program(name), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"{name}: no end within {PATIENCE_S} s") from None
        sys.stderr.write(done.stderr)
        if done.returncode != 0:
            raise Failed(f"{name}: {(done.stderr.strip() or 'failed').splitlines()[-1][:160]}")
        return json.loads(done.stdout)

    def load(self, port, run, *args):
        found = self.result("load", "--port", port, "--run", run, *args)
        if found.get("missed"):
            raise Failed(f"load: {found['missed']} events were driven out of the log before a viewer had them")
        return found

    @contextlib.contextmanager
    def server(self, name, *args):
        """One of our servers: its process, its port and its runs' ids."""
        with started([self.program(name), *map(str, args)]) as process:
            port, *runs = line_of(process).split()
            yield process, int(port), runs

    def pair(self, name, server_args, load_args):
        """A server and a load on it; what the server prints at its end is added."""
        with self.server(name, *server_args) as (process, port, runs):
            found = self.load(port, runs[0], "--server", process.pid, *load_args)
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=60)[0].split("\n")[0]
            return {**found, **(json.loads(rest) if rest else {})}

    def in_turn(self, *measurements):
        """Each measurement once, then each again, so that the machine's other work hits all: a list of results for each."""
        rounds, fault = [], None
        for _ in range(self.rounds):
            try:
                rounds.append([measure() for measure in measurements])
            except Failed as why:
                fault = why
                self.faults.append(str(why))
        if not rounds:
            raise fault
        return [list(results) for results in zip(*rounds)]


@contextlib.contextmanager
def started(command, **options):
    """A process that is killed at the end, whatever happens."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def line_of(process):
    line = process.stdout.readline()
    if not line:
        raise Failed(f"{os.path.basename(process.args[0])} ended before it was ready")
    return line.strip()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise Failed(f"{os.path.basename(process.args[0])} does not listen")


def watching(viewers):
    return f"{viewers:,} viewer" + ("s" if viewers != 1 else "")


def values(results, key):
    return [result[key] for result in results]


def median(results, key):
    return statistics.median(values(results, key))


def ratios(above, below, key):
    """Of each round the one's figure by the other's."""
    return [{"ratio": a[key] / b[key]} for a, b in zip(above, below) if b[key]]


def spread(results, key, unit=1.0, digits=1):
    """The median, and in brackets the least and the most."""
    listed = sorted(value / unit for value in values(results, key))
    if not listed:
        return "-"
    middle = f"{statistics.median(listed):,.{digits}f}"
    return middle if len(listed) == 1 else f"{middle} ({listed[0]:,.{digits}f} to {listed[-1]:,.{digits}f})"

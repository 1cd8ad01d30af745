"""Storms: a server killed under a thousand viewers, and a thousand real sessions cut at one moment."""
import contextlib
import os
import shutil
import subprocess
import tempfile

from .measure import free_port, median, ratios, spread, started, wait_for_port

INSTANCES = 3
BEAT_MS = 2000  # who does not own a run says so once it has seen its owner beat: the first attaches wait for that

BALANCER = """
global
    maxconn 8000
    user root
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
listen bench
    bind 127.0.0.1:{port} backlog 4096
    balance roundrobin
{servers}
"""


def server_killed(bench, _peers, report):
    viewers = bench.crowd(1000)
    limit, ours = bench.in_turn(*(lambda name=name: bench.result("storm", "--program", bench.program(name), "--viewers", viewers)
                                  for name in ("limit", "server")))
    ratio = ratios(ours, limit, "again_ms")
    report.compared(f"kill -9 and start again, {viewers:,} clients that do not wait: ms from the exec until all are attached",
                    "limit", limit, ours, "again_ms", ratio=spread(ratio, "ratio", 1, 2), goal="<= 2",
                    met=median(ratio, "ratio") <= 2)


def sessions_cut(bench, _peers, report):
    viewers = bench.crowd(1000)
    what = f"{viewers:,} sessions of the library's client cut at once, {INSTANCES} instances behind round robin"
    if not shutil.which("haproxy"):
        report.not_measured(what, "haproxy is not here: apt-get install haproxy")
        return
    (found,) = bench.in_turn(lambda: cut_once(bench, viewers))
    report.figure(f"{what}: back, p99 s", spread(found, "back_p99_ms", 1e3, 2), goal="all back, p99 <= 15 s",
                  met=median(found, "back_p99_ms") <= 15000)
    report.figure("- p50 s", spread(found, "back_p50_ms", 1e3, 2))
    report.figure("- the last one, s", spread(found, "back_last_ms", 1e3, 2))
    report.figure("- most dials answered within 100 ms, % of the sessions", spread(found, "peak_percent"), goal="<= 15 %",
                  met=median(found, "peak_percent") <= 15)


def cut_once(bench, viewers):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        ports, runs = [free_port() for _ in range(INSTANCES)], []
        for port in ports:
            _, _, ids = stack.enter_context(bench.server("server", "--port", port, "--store", os.path.join(folder, "store.db"),
                                                         "--beat", BEAT_MS))
            runs += ids
        balancer_port, config = free_port(), os.path.join(folder, "haproxy.cfg")
        with open(config, "w") as file:
            file.write(BALANCER.format(port=balancer_port, servers="\n".join(
                f"    server instance{i} 127.0.0.1:{port}" for i, port in enumerate(ports))))
        balancer = stack.enter_context(started(["haproxy", "-db", "-f", config], stderr=subprocess.DEVNULL))
        wait_for_port(balancer_port, balancer)
        return bench.result("sessions", "--port", balancer_port, "--runs", ",".join(runs), "--viewers", viewers)


STEPS = [server_killed, sessions_cut]

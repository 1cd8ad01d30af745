"""Viewers that take nothing: thousands of idle ones beside a busy one, and one that has stalled."""
from .measure import median, ratios, spread


def busy_one(bench, loop, idle, events):
    with bench.server("server", "--loop", loop, "--runs", 2, "--silent", 1, "--rate", 1000, "--events", events) as \
            (process, port, runs):
        return bench.load(port, runs[0], "--server", process.pid, "--viewers", 1, "--events", events, "--latency",
                          "--idle", idle, "--idle-run", runs[1])


def beside_idle_viewers(bench, _peers, report):
    idle, events = bench.crowd(4000), bench.scale(3000, 50)
    poll, libev = bench.in_turn(lambda: busy_one(bench, "poll", idle, events), lambda: busy_one(bench, "libev", idle, events))
    report.compared(f"{idle:,} idle viewers, 1,000 events/s to one more: CPU, % of a core, with libev", "with poll", poll, libev,
                    "cpu_percent", goal="<= 12 %", met=median(libev, "cpu_percent") <= 12)
    report.compared("- p99 us", "with poll", poll, libev, "p99_us", 1, 0)


def beside_a_stalled_viewer(bench, _peers, report):
    events = bench.scale(500000, 2000)
    server = ["--events", events, "--rate", 0 if bench.mode == "smoke" else 50000]
    load = ["--viewers", 10, "--events", events, "--latency"]
    without, stalled = bench.in_turn(lambda: bench.pair("server", server, load),
                                     lambda: bench.pair("server", server, [*load, "--stalled", 1]))
    grown = [{"more": b["rss_grown"] - a["rss_grown"]} for a, b in zip(without, stalled)]
    report.figure(f"a stalled viewer while {events:,} events pass: KiB of RSS that it costs", spread(grown, "more", 1024, 0),
                  goal="<= 1024 KiB", met=median(grown, "more") <= 1 << 20)
    ratio = ratios(stalled, without, "p99_us")
    report.compared("- p99 us of ten others (50,000 events/s)", "without it", without, stalled, "p99_us", 1, 0,
                    ratio=spread(ratio, "ratio", 1, 2), goal="within 10 %", met=median(ratio, "ratio") <= 1.1)
    report.compared("- p50 us of ten others", "without it", without, stalled, "p50_us", 1, 0)


STEPS = [beside_idle_viewers, beside_a_stalled_viewer]

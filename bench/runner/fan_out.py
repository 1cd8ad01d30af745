"""Fan-out flat out: the library beside the physical limit and its peers."""
import signal

from .measure import Failed, line_of, median, ratios, spread
from .peers import NCHAN_RATE

LARGE_LOG = ["--log-events", 4000000, "--log-bytes", 2000000000]

# viewers, bytes of an event, events, goal: the library's share of the limit
LIMIT = [(1, 200, 500000, 0.6), (10, 200, 100000, 0.6), (100, 200, 20000, 0.6), (1000, 200, 3000, 0.5),
         (100, 2048, 5000, 0.7), (100, 20480, 500, 0.7)]
# peer: goal: the library's multiple of it; its events at 1, 10, 100, 1000 viewers, about a second of each
PEERS = {"NATS": (1, (300000, 60000, 20000, 2000)), "nchan": (20, (20000, 10000, 2000, 200)),
         "Socket.IO": (40, (30000, 5000, 600, 60)), "ws": (None, (30000, 5000, 600, 60))}
VIEWERS = (1, 10, 100, 1000)


def measure(bench, peers, report):
    by_viewers = {}
    for viewers, size, events, goal in LIMIT:
        beside_limit(bench, report, viewers, size, events, goal, by_viewers)
    for viewers, events in ((1, 1000000), (10, 200000)):
        from_the_log(bench, report, viewers, events)
    if bench.mode != "smoke":
        beside_peers(bench, peers, report, by_viewers)


def library(bench, viewers, size, events):
    found = bench.pair("server", ["--size", size, "--events", events, *LARGE_LOG], ["--viewers", viewers, "--events", events])
    found["cpu_ns_without_emit"] = found["cpu_ns_a_delivery"] - found["emit_cpu_ns"] / viewers
    return found


def beside_limit(bench, report, viewers, size, events, goal, by_viewers):
    viewers, events = bench.scale(viewers, 10) if bench.mode == "smoke" else viewers, bench.scale(events, 300)
    limit, ours = bench.in_turn(
        lambda: bench.pair("limit", ["--size", size, "--events", events], ["--viewers", viewers, "--events", events]),
        lambda: library(bench, viewers, size, events))
    if size == 200:
        by_viewers[viewers if bench.mode != "smoke" else 100] = ours
    clock = ratios(ours, limit, "per_second")
    cpu = [{"ratio": a["cpu_ns_a_delivery"] / b["cpu_ns_without_emit"]} for a, b in zip(limit, ours)]
    report.compared(f"{viewers} viewers, {size} bytes: M deliveries/s", "limit", limit, ours, "per_second", 1e6, 2,
                    ratio=spread(clock, "ratio", 1, 2), goal=f">= {goal} of the limit", met=median(clock, "ratio") >= goal)
    report.figure("- the server's CPU ns a delivery, without that of the emits", spread(ours, "cpu_ns_without_emit", 1, 0),
                  beside=f"limit: {spread(limit, 'cpu_ns_a_delivery', 1, 0)}", ratio=spread(cpu, "ratio", 1, 2))


def from_the_log(bench, report, viewers, events):
    """The events are there before the viewers are: nothing is emitted meanwhile, on either side."""
    events = bench.scale(events, 300)

    def once(name, *extra):
        with bench.server(name, "--events", events, *extra) as (process, port, runs):
            process.send_signal(signal.SIGUSR2)
            if name == "server":
                line_of(process)  # what the emits cost: they are done
            return bench.load(port, runs[0], "--server", process.pid, "--viewers", viewers, "--events", events, "--late")

    limit, ours = bench.in_turn(lambda: once("limit"), lambda: once("server", *LARGE_LOG))
    report.compared(f"{viewers} viewer{'s'[:viewers - 1]}, 200 bytes, all emitted before: M deliveries/s, attach included", "limit",
                    limit, ours, "per_second", 1e6, 2, ratio=spread(ratios(ours, limit, "per_second"), "ratio", 1, 2))


def beside_peers(bench, peers, report, by_viewers):
    names, rows = list(PEERS), []
    for place, viewers in enumerate(VIEWERS):
        measured = {}
        for name in names:
            goal, events = PEERS[name][0], bench.scale(PEERS[name][1][place], 60)
            what = f"{viewers} viewers: the library's deliveries/s as a multiple of those of {name}"
            try:
                # In turn with a further round of ours, so that both have the same machine.
                theirs, ours = bench.in_turn(lambda: peers.measure(name, viewers, events),
                                             lambda: library(bench, viewers, 200, bench.scale(LIMIT[place][2] // 2, 300)))
            except Failed as why:
                report.not_measured(what, str(why))
                continue
            measured[name] = theirs
            multiple = ratios(ours, theirs, "per_second")
            report.compared(what, f"{name}, M/s", theirs, ours, "per_second", 1e6, 3, ratio=spread(multiple, "ratio"),
                            goal=f">= {goal}" if goal else "",
                            met=median(multiple, "ratio") >= goal if goal else None)
        for name, theirs in [*measured.items(), ("library", by_viewers[viewers])]:
            rows.append([viewers, name, spread(theirs, "per_second", 1e6, 3), spread(theirs, "cpu_ns_a_delivery", 1, 0),
                         spread(theirs, "cpu_percent", 1, 0)])
    report.detail(f"Peers, 200-byte events, flat out (nchan: published at {NCHAN_RATE:,} a second, which is its limit)",
                  ["viewers", "server", "M deliveries/s", "CPU ns a delivery, publishing included", "CPU, % of a core"], rows)

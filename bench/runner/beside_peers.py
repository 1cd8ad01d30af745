"""Fan-out flat out, and a steady rate, beside other systems."""
from .fan_out import library
from .measure import Failed, median, ratios, spread, watching
from .paced import paced
from .peers import NCHAN_RATE

VIEWERS = (1, 10, 100, 1000)
OUR_EVENTS = (250000, 50000, 10000, 1500)
# peer: goal: the library's multiple of it; its events at so many viewers, about a second of each
PEERS = {"NATS": (1, (300000, 60000, 20000, 2000)), "nchan": (20, (20000, 10000, 2000, 200)),
         "Socket.IO": (40, (30000, 5000, 600, 60)), "ws": (None, (30000, 5000, 600, 60))}


def fan_out(bench, peers, report):
    if bench.mode == "smoke":
        return  # peers are installed by hand
    rows = []
    for place, viewers in enumerate(VIEWERS):
        for name in PEERS:
            try:
                theirs, ours = one_fan_out(bench, peers, report, name, place)
            except Failed as why:
                report.not_measured(f"{watching(viewers)}, 200 bytes: the library beside {name}", str(why))
                continue
            rows += [row(viewers, name, theirs), row(viewers, f"library, beside {name}", ours)]
    report.detail(f"Peers, 200-byte events, flat out (nchan: published at {NCHAN_RATE:,} a second, which is its limit)",
                  ["viewers", "server", "M deliveries/s", "CPU ns a delivery, publishing included", "CPU, % of a core"], rows)


def one_fan_out(bench, peers, report, name, place):
    goal, events = PEERS[name]
    peers.require(name)
    theirs, ours = bench.in_turn(lambda: peers.measure(name, VIEWERS[place], bench.scale(events[place], 60)),
                                 lambda: library(bench, VIEWERS[place], 200, bench.scale(OUR_EVENTS[place], 300)))
    multiple = ratios(ours, theirs, "per_second")
    fed = f" (fed {NCHAN_RATE:,} a second)" if name == "nchan" else ""
    report.compared(f"{watching(VIEWERS[place])}, 200 bytes: M deliveries/s", name + fed, theirs, ours, "per_second", 1e6, 3,
                    ratio=spread(multiple, "ratio"), goal=f">= {goal}" if goal else "",
                    met=median(multiple, "ratio") >= goal if goal else None)
    return theirs, ours


def row(viewers, name, results):
    return [viewers, name, spread(results, "per_second", 1e6, 3), spread(results, "cpu_ns_a_delivery", 1, 0),
            spread(results, "cpu_percent", 1, 0)]


def steady_rate(bench, peers, report):
    if bench.mode == "smoke":
        return
    viewers, rate, events = 100, 1000, 3000
    peers.require("Socket.IO")
    theirs, ours = bench.in_turn(lambda: peers.measure("Socket.IO", viewers, events, 200, rate, ["--latency"]),
                                 lambda: paced(bench, "server", viewers, rate, events))
    share = ratios(ours, theirs, "cpu_ns_a_delivery")
    report.compared(f"{rate:,} events/s to {watching(viewers)}: CPU us a frame", "Socket.IO", theirs, ours,
                    "cpu_ns_a_delivery", 1e3, 2, ratio=spread(share, "ratio", 1, 3), goal="<= 0.33", met=median(share, "ratio") <= 1 / 3)
    report.compared("- p99 ms", "Socket.IO", theirs, ours, "p99_us", 1e3)
    for results in (theirs, ours):
        for result in results:
            result["rate"] = result["per_second"] / viewers
    report.compared("- events/s that arrived", "Socket.IO", theirs, ours, "rate", 1, 0)


STEPS = [fan_out, steady_rate]

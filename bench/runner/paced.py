"""A steady rate: how long an event takes, from before the emit to after the read, and what it costs."""
from .fan_out import LARGE_LOG
from .measure import Failed, median, ratios, spread

# viewers, events a second, seconds
RATES = [(10, 100, 3), (100, 1000, 3), (1000, 1000, 3)]


def measure(bench, peers, report):
    for viewers, rate, seconds in RATES:
        events = bench.scale(rate * seconds, 50) if bench.mode == "smoke" else rate * seconds
        viewers = bench.scale(viewers, 10) if bench.mode == "smoke" else viewers
        limit, ours = bench.in_turn(lambda: paced(bench, "limit", viewers, rate, events),
                                    lambda: paced(bench, "server", viewers, rate, events))
        name = f"{rate} events/s to {viewers} viewers"
        report.compared(f"{name}: emit to received, p50 us", "limit", limit, ours, "p50_us", 1, 0,
                        ratio=spread(ratios(ours, limit, "p50_us"), "ratio", 1, 2), **goal(ours, rate == 100, "p50_us", 200, "us"))
        report.compared("- p99 ms", "limit", limit, ours, "p99_us", 1e3, 1,
                        **goal(ours, rate == 1000, "p99_us", 15000 if viewers < 1000 else 100000, "ms", 1e3))
        report.compared("- CPU, % of a core", "limit", limit, ours, "cpu_percent")
        if rate == 1000 and viewers == 1000:
            sustained(report, ours, rate)
        if rate == 1000 and viewers == 100:
            beside_socket_io(bench, peers, report, viewers, rate, events)


def paced(bench, name, viewers, rate, events):
    extra = LARGE_LOG if name == "server" else []
    return bench.pair(name, ["--size", 200, "--events", events, "--rate", rate, *extra],
                      ["--viewers", viewers, "--events", events, "--latency"])


def goal(ours, has, key, most, unit, scale=1):
    return {"goal": f"<= {most / scale:.0f} {unit}", "met": median(ours, key) <= most} if has else {}


def sustained(report, ours, rate):
    share = [{"share": 100 * r["per_second"] / r["viewers"] / rate} for r in ours]
    report.figure("- of the rate, arrived, %", spread(share, "share"), goal="sustained on one core: >= 97 %",
                  met=median(share, "share") >= 97 and median(ours, "cpu_percent") <= 100)


def beside_socket_io(bench, peers, report, viewers, rate, events):
    what = "- CPU a frame, us, as a share of Socket.IO's"
    try:
        theirs, ours = bench.in_turn(lambda: peers.measure("Socket.IO", viewers, events, 200, rate, ["--latency"]),
                                     lambda: paced(bench, "server", viewers, rate, events))
    except Failed as why:
        report.not_measured(what, str(why))
        return
    share = ratios(ours, theirs, "cpu_ns_a_delivery")
    report.compared(what, "Socket.IO", theirs, ours, "cpu_ns_a_delivery", 1e3, 2, ratio=spread(share, "ratio", 1, 2),
                    goal="<= 0.33", met=median(share, "ratio") <= 1 / 3)
    late = [{"rate": r["per_second"] / r["viewers"]} for r in theirs]
    report.figure("- Socket.IO itself: events/s that arrived, and p99 ms", "", beside=f"{spread(late, 'rate', 1, 0)}; "
                  f"{spread(theirs, 'p99_us', 1e3)}")

"""A steady rate: how long an event takes, from before the emit to after the read, and what it costs."""
from .fan_out import LARGE_LOG
from .measure import median, ratios, spread, watching

# viewers, events a second, seconds
RATES = [(10, 100, 3), (100, 1000, 3), (1000, 1000, 3)]


def steady_rate(bench, _peers, report):
    for viewers, rate, seconds in RATES:
        events = bench.scale(rate * seconds, 50) if bench.mode == "smoke" else rate * seconds
        one_rate(bench, report, bench.crowd(viewers), rate, events)


def one_rate(bench, report, viewers, rate, events):
    limit, ours = bench.in_turn(lambda: paced(bench, "limit", viewers, rate, events),
                                lambda: paced(bench, "server", viewers, rate, events))
    report.compared(f"{rate:,} events/s to {watching(viewers)}: emit to received, p50 us", "limit", limit, ours, "p50_us", 1, 0,
                    ratio=spread(ratios(ours, limit, "p50_us"), "ratio", 1, 2), **goal(ours, rate == 100, "p50_us", 200, "us"))
    report.compared("- p99 ms", "limit", limit, ours, "p99_us", 1e3, 1,
                    **goal(ours, rate == 1000, "p99_us", 15000 if viewers < 1000 else 100000, "ms", 1e3))
    report.compared("- CPU, % of a core", "limit", limit, ours, "cpu_percent")
    if viewers == 1000:
        sustained(report, ours, rate)


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


STEPS = [steady_rate]

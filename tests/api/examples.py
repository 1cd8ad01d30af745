"""Runs the examples against each other: a server, a follower, a host's own loop, a store. Usage: examples.py FOLDER"""
import os
import signal
import subprocess
import sys

FOLDER = sys.argv[1]
LIMIT_S = 60  # an upper bound, never a wait


def check(holds, text):
    if not holds:
        raise SystemExit("examples: " + text)


def run(name, *args, stdin=subprocess.DEVNULL):
    return subprocess.run([os.path.join(FOLDER, name), *args], stdin=stdin, capture_output=True, text=True, timeout=LIMIT_S)


def follow(url):
    done = run("follow_run", url, "count")
    lines = done.stdout.splitlines()
    check(done.returncode == 0, f"follow_run ended with {done.returncode}: {done.stderr}")
    check(len(lines) == 11, f"follow_run printed {len(lines)} events instead of 11")
    check('"number 10"' in lines[9] and '"seq":10}' in lines[9], f"the tenth event is {lines[9]}")
    check('"kind":"completed"' in lines[10] and '"status":"succeeded"' in lines[10], f"the last event is {lines[10]}")
    run_id = done.stderr.split()[1].rstrip(":")
    check(done.stderr.strip() == f"run {run_id}: succeeded", f"follow_run said {done.stderr!r}")
    return run_id


def attach(url, run_id):
    done = run("follow_run", url, run_id, "--attach")
    check(done.returncode == 0, f"follow_run --attach ended with {done.returncode}: {done.stderr}")
    check(len(done.stdout.splitlines()) == 11, "a run that has ended is not followed from its beginning")


def refuse(url):
    done = run("follow_run", url, "something-else")
    check(done.returncode == 1, f"an unknown workflow ended with {done.returncode}")
    check("workflow_not_found" in done.stdout, f"an unknown workflow printed {done.stdout!r}")
    check(run("follow_run", "gopher://x", "count").returncode == 2, "a bad URL is no mistake in the usage")
    check(run("follow_run").returncode == 2, "no arguments are no mistake in the usage")


def own_loop(url):
    done = run("own_loop", url, "count")
    lines = done.stdout.splitlines()
    check(done.returncode == 0, f"own_loop ended with {done.returncode}: {done.stderr}")
    check(lines[:10] == [f"{n} method_output" for n in range(1, 11)], f"own_loop printed {lines}")
    check(lines[10:] == ["11 completed", "done: succeeded"], f"own_loop printed {lines}")


def own_store():
    done = run("own_store")
    check(done.returncode == 0, f"own_store ended with {done.returncode}: {done.stdout}")
    check("put greeting if absent" in done.stdout and "SWAMP_CONFLICT at 0" in done.stdout,
          f"own_store printed {done.stdout!r}")


def main():
    own_store()
    server = subprocess.Popen([os.path.join(FOLDER, "embed_server")], stdout=subprocess.PIPE, text=True)
    try:
        first = server.stdout.readline()
        check(first.startswith("listening on http://127.0.0.1:"), f"embed_server said {first!r}")
        url = first.split()[2]
        attach(url, follow(url))
        refuse(url)
        own_loop(url)
        taken = run("embed_server", url.rsplit(":", 1)[1])
        check(url.rsplit(":", 1)[1] in taken.stderr, f"a port in use: {taken.stderr!r}")
    finally:
        os.kill(server.pid, signal.SIGTERM)
        ended = server.wait(timeout=LIMIT_S)
    check(ended == 0, f"embed_server ended with {ended}")


main()

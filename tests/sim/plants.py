"""Bugs to be planted one at a time, so that the simulator's validators are tested, too; scripts/sim --plants does it.

usage: plants.py --check SOURCE_ROOT                     each edit finds its place exactly once
       plants.py SOURCE_ROOT BUILD_DIR SEEDS [NAME...]   plants each one in a copy, and counts the seeds until it is caught

A plant is an edit of the source, or more than one where one alone is made good by another part: (name, file, what
stands there, what is put there ...). The library itself holds nothing that is for tests only. A bug counts as caught
when a rule is broken, not when the program falls over. Defences against servers that break the protocol themselves are
not planted here: tests/wire has those servers.
"""
import os
import re
import shutil
import subprocess
import sys

PLANTS = [
    # events: ordered, unique, reliable, resumable
    ("attach_skips_an_event", "server/viewer.c", "viewer->cursor.next_seq = after_seq + 1;",
     "viewer->cursor.next_seq = after_seq + (attached ? 2 : 1);"),
    ("attach_repeats_an_event", "server/viewer.c", "viewer->cursor.next_seq = after_seq + 1;",
     "viewer->cursor.next_seq = after_seq + (after_seq ? 0 : 1);"),
    ("viewer_misses_every_16th_event", "server/viewer.c", "        viewer->cursor = cursor;",
     "        viewer->cursor.next_seq = cursor.next_seq + (cursor.next_seq % 16 == 0);"),
    ("seq_has_holes", "run/event_log.c", "write_tail(space, sizeof space, log->head + 1,",
     "write_tail(space, sizeof space, log->head + 1 + (log->head > 8),"),
    ("gap_is_one_too_long", "run/event_log.c", "*to = log->first - 1;", "*to = log->first;"),
    ("gap_is_one_too_short", "run/event_log.c", "*to = log->first - 1;",
     "*to = log->first - 1 - (log->first - 1 > *from);"),
    ("search_lands_beside", "run/event_log.c", "seq < cursor->next_seq; seq++", "seq + 1 < cursor->next_seq; seq++"),
    ("session_asks_from_beyond", "session/link.c", "place->epoch[0] ? place->epoch : NULL, place->last);",
     "place->epoch[0] ? place->epoch : NULL, place->last + (place->last > 2));"),
    ("session_forgets_its_place", "session/stream.c", "    swamp__place_advance(&session->place, answer->seq);",
     "    if (answer->seq % 8)\n        swamp__place_advance(&session->place, answer->seq);"),
    ("cursor_runs_ahead", "session/tell.c", "    event->cursor_seq = session->place.last;\n    event->bytes",
     "    event->cursor_seq = session->place.last + (told->type == SWAMP_EVENT_RECONNECTING);\n    event->bytes"),
    ("epoch_changes", "server/attach_answer.c", ".epoch = run->epoch,", ".epoch = run->id,"),
    ("last_event_is_dropped", "run/life.c", "    if (!run->last_event)\n        return SWAMP_OK;",
     "    if (!run->last_event || run->tries == 0)\n        return SWAMP_OK;"),
    # the end: one final status, told after it was written
    ("end_is_told_before_it_is_written", "run/life.c",
     "    if (write->outcome == SWAMP__WRITE_DONE) {\n        conclude(life, run);",
     "    if (write->outcome != SWAMP__WRITE_FENCED) {\n        conclude(life, run);"),
    ("end_is_always_a_success", "run/life.c", "    run->status = run->finish_status;", "    run->status = SWAMP_RUN_SUCCEEDED;"),
    ("final_status_is_written_over", "run/reaper.c",
     "    if (reading->run_readable && reading->facts.is_final)\n        return 0;", "    (void)0;"),
    ("lost_run_is_called_done", "server/viewer.c",
     "if (viewer->run->state == SWAMP__RUN_FINISHED || viewer->run->state == SWAMP__RUN_GONE)",
     "if (viewer->run->state >= SWAMP__RUN_FINISHED)"),
    ("lost_start_is_sent_again", "session/rules.c",
     "SWAMP__IN_LOST,               swamp__act_fail_lost,             ENDED,",
     "SWAMP__IN_LOST,               swamp__act_redial,                WAITING,"),
    # who lives and who writes: fenced
    ("write_without_a_fence", "run/life_write.c",
     "add_check(batch, swamp__key_heartbeat(me), SWAMP_STORE_PRESENT, 0);",
     "add_check(batch, swamp__key_heartbeat(me), SWAMP_STORE_ANY, 0);"),
    ("beat_writes_over_anything", "run/heartbeat.c",
     "int condition = pulse->revision ? SWAMP_STORE_REVISION : SWAMP_STORE_ABSENT;", "int condition = SWAMP_STORE_ANY;"),
    ("sleeper_judges_by_the_time_it_slept", "run/membership.c",
     "return now_ms - m->pulse_due_ms <= half_interval(m);", "return now_ms - m->pulse_due_ms <= 1000 * half_interval(m);",
     "run/heartbeat.c", "swamp__op_remove(dead.text, SWAMP_STORE_REVISION, removal->revision),",
     "swamp__op_remove(dead.text, SWAMP_STORE_ANY, 0), /* else that alone would save the living */"),
    ("outage_counts_as_silence", "run/membership.c", "const char *fault = find_fault(m, pulse, now_ms);",
     "const char *fault = m->pulses ? NULL : find_fault(m, pulse, now_ms);"),
    ("deaths_are_declared_early", "run/watch.c", "now_ms - watch->since_ms > watch->stale_ttl_ms)",
     "4 * (now_ms - watch->since_ms) > watch->stale_ttl_ms)"),
    ("silence_counts_as_death", "server/attach.c", "        withhold(asked, watch);",
     "        swamp__attach_say_interrupted(settle(asked), found->run.id, found->owner, \"instance_dead\");"),
    ("store_failure_means_not_found", "run/lookup.c",
     "    if (rc != SWAMP_OK)\n        return SWAMP__FOUND_FAILED;\n    rc = read_heartbeat",
     "    if (rc != SWAMP_OK)\n        return SWAMP__FOUND_NOTHING;\n    rc = read_heartbeat"),
    # bounded, live
    ("logs_grow_without_bound", "run/life.c", "    if (life->all_logs_bytes)\n        swamp__registry_fit(",
     "    if (!life->all_logs_bytes)\n        swamp__registry_fit("),
    ("answers_pile_up", "server/conn.c", "    if (!conn->paused && conn->outbox.len > SWAMP__OUTBOX_PAUSE) {",
     "    if (!conn->paused && conn->outbox.len > 100 * SWAMP__OUTBOX_PAUSE) {"),
    ("full_connection_is_never_read_again", "server/conn.c",
     "    if (conn->paused && conn->outbox.len < SWAMP__OUTBOX_PAUSE / 2) {", "    if (conn->closing) {"),
    ("redials_at_once", "session/backoff.c", "    return delay_ms;\n}\n\nint64_t\nswamp__backoff_told",
     "    return delay_ms > 1 ? 1 : delay_ms;\n}\n\nint64_t\nswamp__backoff_told"),
    ("history_is_asked_once", "session/history.c",
     "    swamp__timer_set(session->world->timers, &session->delay_timer, now_ms + delay_ms);", "    (void)delay_ms;"),
    ("only_viewer_is_not_woken", "server/viewer.c", "if (!run->viewer_count ||", "if (run->viewer_count < 2 ||"),
    # nothing is left over
    ("admission_is_not_taken_back", "run/life.c", "        begin_cleaning(life, run);\n", "        refuse(life, run, SWAMP_E_UNKNOWN);\n"),
    ("lost_write_is_not_waited_for", "run/life.c",
     "write->outcome == SWAMP__WRITE_ABSENT && run->seen_absent", "write->outcome == SWAMP__WRITE_ABSENT"),
    ("taken_back_but_for_an_index", "run/life_write.c",
     "        add_remove(&batch, swamp__key_name_run(run->resource_name, write->run_id), SWAMP_STORE_ANY, 0);", "        (void)0;"),
    ("key_of_the_keeper_stays", "run/life.c",
     "if (has_store(life) && !life->fenced)\n        swamp__life_ask(life, run, &forget_kind);",
     "if (!life)\n        swamp__life_ask(life, run, &forget_kind);"),
    ("cancel_request_stays", "run/life_write.c",
     "    add_remove(&batch, swamp__key_cancel_request(write->me, write->run_id), SWAMP_STORE_ANY, 0);\n    int rc",
     "    int rc"),
    ("reaper_leaves_a_key", "run/reaper.c", "    ops[count++] = swamp__op_remove(of_instance.text, SWAMP_STORE_ANY, 0);",
     "    (void)of_instance;"),
    ("reaper_ends_nothing", "run/reaper.c", "int ends = is_of_the_dead(reading, suspect) && must_end(reading);",
     "int ends = is_of_the_dead(reading, suspect) && must_end(reading) && reap->max_runs == 0;"),
]


def edits_of(plant):
    return [plant[at:at + 3] for at in range(1, len(plant), 3)]


def read(root, name):
    with open(os.path.join(root, "libswamp", name), encoding="utf-8") as file:
        return file.read()


def write(root, name, text):
    with open(os.path.join(root, "libswamp", name), "w", encoding="utf-8") as file:
        file.write(text)


def check(root):
    wrong = 0
    for plant in PLANTS:
        for name, old, _ in edits_of(plant):
            found = read(root, name).count(old)
            if found != 1:
                wrong = 1
                print(f"{plant[0]}: its place occurs {found} times in {name}; mend it here", file=sys.stderr)
    print(f"{len(PLANTS)} plants")
    return wrong


def copy_tree(root, to):
    shutil.rmtree(to, ignore_errors=True)
    usual = shutil.ignore_patterns("build*", ".git", "__pycache__")

    def left_out(folder, names):
        """Also the copy itself, should it be made within what is copied."""
        return usual(folder, names) | {name for name in names if os.path.abspath(os.path.join(folder, name)) == os.path.abspath(to)}

    shutil.copytree(root, to, symlinks=True, ignore=left_out)


def play(tree, build, plant, seeds):
    """How many seeds it took, and what was said; 0: it was not caught."""
    whole = {name: read(tree, name) for name, _, _ in edits_of(plant)}
    for name, old, new in edits_of(plant):
        write(tree, name, whole[name].replace(old, new))
    try:
        subprocess.run(["ninja", "-C", build, "tests/sim/sim_seeds"], check=True, capture_output=True, text=True)
        done = subprocess.run([os.path.join(build, "tests/sim/sim_seeds"), "1", str(seeds), "first"],
                              capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return 0, "it hung"
    except subprocess.CalledProcessError as error:
        return 0, "it does not compile:\n" + error.stdout[-2000:]
    finally:
        for name, text in whole.items():
            write(tree, name, text)
    broken = re.search(r"^broken (\d+): (.*)", done.stdout, re.M)
    if broken:
        return int(broken[1]), broken[2]
    return 0, "no rule was broken" if done.returncode == 0 else f"the program ended with {done.returncode}"


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2])
    root, build, seeds = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3])
    if check(root):
        return 1
    tree = os.path.join(build, "tree")
    os.makedirs(build, exist_ok=True)
    copy_tree(root, tree)
    objects = os.path.join(build, "objects")
    shutil.rmtree(objects, ignore_errors=True)
    subprocess.run(["meson", "setup", objects, tree, "--buildtype=release", "-Db_ndebug=false", "-Dprogram=disabled",
                    "-Dexamples=disabled"],
                   check=True, stdout=subprocess.DEVNULL)
    names = sys.argv[4:]
    unknown = set(names) - {plant[0] for plant in PLANTS}
    if unknown:
        print(f"no such plant: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    plants = [plant for plant in PLANTS if not names or plant[0] in names]
    missed = 0
    for plant in plants:
        seed, words = play(tree, objects, plant, seeds)
        missed += not seed
        print(f"{plant[0]:38} {seed or 'NOT CAUGHT':>10}  {words}", flush=True)
    print(f"{len(plants) - missed} of {len(plants)} planted bugs were caught; the number is the seed that did it")
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())

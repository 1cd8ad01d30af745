"""The program end to end: serve, run, attach, history, cancel, and what each end is in exit codes."""
import json
import os
import signal
import time

import swamp_test
from swamp_test import UNTIL_GO, Hangup, SwampTest, Terminal, wait_until, workflow

# Goes on until the file `go` is there, so that no test depends on how fast it is.


class Program(SwampTest):
    def setUp(self):
        super().setUp()
        self.write_workflow("held", workflow("held", UNTIL_GO))
        self.write_workflow("bad", workflow("bad", "echo oops >&2; exit 3"))

    def go(self):
        open(self.path("go"), "w").close()

    def run_id(self, process):
        return process.wait_line("err", r"\[run (\S+)\]").group(1)

    def test_a_run_on_a_server_succeeds_and_is_recorded(self):
        server = self.serve()
        done = self.swamp("workflow", "run", "hello", "--input", "who=you", "--server", server.url)
        self.assert_code(done, 0)
        self.assertIn("greet/say | hello you\n", done.out)
        run = json.loads(self.swamp("workflow", "history", "get", "hello", "--json", "--server", server.url).out)
        self.assertEqual((run["status"], run["instanceId"]), ("succeeded", server.instance))
        self.assertIn("run %s succeeded" % run["id"], done.out)
        # the store is shared: the same without a server, also by the end of the id
        other = self.swamp("workflow", "history", "get", run["id"][-12:], "--json")
        self.assertEqual(json.loads(other.out), run)

    def test_json_gives_the_same_bytes_to_the_starter_and_to_a_later_viewer(self):
        server = self.serve()
        first = self.swamp("workflow", "run", "hello", "--json", "--server", server.url)
        self.assert_code(first, 0)
        run = self.events(first)[-1]["run"]["id"]
        again = self.swamp("run", "attach", run, "--json", "--server", server.url)
        self.assert_code(again, 0)
        self.assertEqual(again.out, first.out)
        rest = self.swamp("run", "attach", run, "--json", "--after-seq", "3", "--server", server.url)
        self.assertEqual(rest.out.splitlines(), first.out.splitlines()[3:])

    def test_without_a_server_the_run_is_in_this_process_with_the_same_history(self):
        done = self.swamp("workflow", "run", "hello", "--input-file", "-", "--json", stdin="who: file")
        self.assert_code(done, 0)
        self.assertIn("hello file", done.out)
        rows = [json.loads(line) for line in self.swamp("run", "history", "--json").out.splitlines()]
        self.assertEqual([(r["status"], r["workflowName"]) for r in rows], [("succeeded", "hello")])
        self.assertEqual(os.stat(self.path(".swamp")).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(self.path(".swamp/control-plane.db")).st_mode & 0o777, 0o600)
        self.assertEqual(self.swamp("cluster", "instances", "--json").out, "")

    def test_a_failed_run_is_1_with_its_step_and_its_id(self):
        for server in ([], ["--server", self.serve().url]):
            done = self.swamp("workflow", "run", "bad", *server)
            self.assert_code(done, 1)
            last = done.err.splitlines()[-1]
            self.assertRegex(last, r"run \S{36} failed: job job, step step: exit code 3: oops; look at it with ")

    def test_an_unknown_workflow_is_5_and_a_wrong_input_2(self):
        for server in ([], ["--server", self.serve().url]):
            done = self.swamp("workflow", "run", "nope", *server)
            self.assert_code(done, 5)
            self.assertIn("swamp workflow list", done.err)
            done = self.swamp("workflow", "run", "hello", "--input", "colour=red", *server)
            self.assert_code(done, 2)
            self.assertIn("colour", done.err)
        self.assertEqual(self.swamp("run", "history", "--json").out, "")

    def test_control_characters_of_a_command_are_shown_escaped(self):
        self.write_workflow("colours", workflow("colours", "printf '\\033[31mred\\007\\n'"))
        done = self.swamp("workflow", "run", "colours")
        self.assertIn("job/step | \\x1b[31mred\\x07\n", done.out)

    def test_cancel_by_another_command_ends_it_as_1(self):
        server = self.serve()
        for place in (["--server", server.url], []):
            runner = self.start("workflow", "run", "held", "--server", server.url)
            run = self.run_id(runner)
            runner.wait_line("out", "begun")
            asked = self.swamp("run", "cancel", run, "--reason", "enough", *place)
            self.assert_code(asked, 0)
            done = runner.wait()
            self.assert_code(done, 1)
            self.assertIn("run %s was cancelled by somebody else" % run, done.err)
            # of an ended run: 0, with its status
            asked = self.swamp("run", "cancel", run, "--json", *place)
            self.assert_code(asked, 0)
            self.assertEqual((json.loads(asked.out)["accepted"], json.loads(asked.out)["status"]), (False, "cancelled"))

    def test_ctrl_c_cancels_and_is_130(self):
        server = self.serve()
        for place in (["--server", server.url], []):
            runner = self.start("workflow", "run", "held", *place)
            run = self.run_id(runner)
            runner.wait_line("out", "begun")
            runner.send(signal.SIGINT)
            done = runner.wait()
            self.assert_code(done, 130)
            self.assertIn("run %s was cancelled" % run, done.err)
            record = json.loads(self.swamp("workflow", "history", "get", run, "--json").out)
            self.assertEqual(record["status"], "cancelled")

    def test_ctrl_c_twice_leaves_at_once(self):
        self.write_workflow("deaf", workflow("deaf", "trap '' TERM; echo begun; while ! test -e go; do sleep 0.05; done"))
        server = self.serve()
        runner = self.start("workflow", "run", "deaf", "--server", server.url)
        run = self.run_id(runner)
        runner.wait_line("out", "begun")
        runner.send(signal.SIGINT)
        runner.wait_line("err", "cancelling")
        runner.send(signal.SIGINT)
        done = runner.wait()
        self.assert_code(done, 130)
        self.assertIn("left run %s before it had ended" % run, done.err)
        self.go()

    def test_ctrl_c_that_no_server_can_take_does_not_say_that_the_run_was_asked_to_end(self):
        server = self.serve()
        proxy = self.proxy(server.port)
        runner = self.start("workflow", "run", "held", "--server", proxy.url)
        run = self.run_id(runner)
        runner.wait_line("out", "begun")
        proxy.refusing = True
        proxy.cut()
        runner.wait_line("err", "reconnecting")
        runner.send(signal.SIGINT)
        runner.wait_line("err", "cancelling")
        runner.send(signal.SIGINT)
        done = runner.wait()
        self.assert_code(done, 130)
        last = done.err.splitlines()[-1]
        self.assertIn("left run %s before it had ended: if no server has taken the cancel, it goes on" % run, last)
        self.assertIn("swamp run cancel %s" % run, last)
        self.assertEqual(self.swamp("run", "history", "--active", "--json").out.count(run), 1)  # it does
        self.go()

    def test_ctrl_c_twice_leaves_a_run_of_this_process_at_once_with_its_record(self):
        # a command that never ends by itself, and that TERM does not end: waiting for it would be 5 s of patience
        self.write_workflow("deaf", workflow("deaf", "trap '' TERM; echo begun; while :; do sleep 0.05; done"))
        took_s = []
        for _ in range(3):
            runner = self.start("workflow", "run", "deaf")
            run = self.run_id(runner)
            runner.wait_line("out", "begun")
            runner.send(signal.SIGINT)
            runner.wait_line("err", "cancelling")
            begun = time.monotonic()
            runner.send(signal.SIGINT)
            self.assert_code(runner.wait(), 130)
            took_s.append(time.monotonic() - begun)
            record = json.loads(self.swamp("workflow", "history", "get", run, "--json").out)
            self.assertEqual(record["status"], "cancelled")
        self.assertLess(min(took_s), 2.5, took_s)  # the least: the others are the machine's business

    def test_broken_files_that_nobody_asked_for_are_not_told(self):
        self.write_workflow("broken", "name: broken\njobs: 3\n")
        for words, told in ((["workflow", "run", "hello"], False), (["workflow", "run", "hello", "-v"], True)):
            done = self.swamp(*words)
            self.assert_code(done, 0)
            self.assertEqual("broken.yaml" in done.err, told, repr(done))

    def test_serve_says_at_its_start_which_workflows_it_has(self):
        self.write_workflow("broken", "name: broken\njobs: 3\n")
        server = self.serve()
        server.wait_line("err", r" warn +\./workflows/broken\.yaml:\d+: ")
        server.wait_line("err", r" info +3 workflows loaded from \./workflows; 1 file cannot be run$")
        os.mkdir(self.path("none"))
        server = self.serve("--workflows", "none")
        server.wait_line("err", r" warn +no workflow was loaded from none: ")
        os.rename(self.path("workflows"), self.path("elsewhere"))
        server = self.serve()
        server.wait_line("err", r" warn +\./workflows: the directory of workflows cannot be read: No such file")
        server.wait_line("err", r" warn +no workflow was loaded from \./workflows: ")

    def test_ctrl_c_of_an_attach_only_leaves_and_its_cursor_goes_on(self):
        server = self.serve()
        runner = self.start("workflow", "run", "held", "--json", "--server", server.url)
        run = runner.wait_line("err", r'"accepted","runId":"([^"]+)"').group(1)
        viewer = self.start("run", "attach", run, "--json", "--server", server.url)
        viewer.wait_line("out", "begun")
        viewer.send(signal.SIGINT)
        left = viewer.wait()
        self.assert_code(left, 130)
        line = json.loads(left.err.splitlines()[-1])
        self.assertEqual((line["swamp"], line["exit"], line["runId"]), ("error", 130, run))
        cursor = line["message"].split("swamp run attach ")[1].split()[0].rstrip('"')
        self.go()
        rest = self.swamp("run", "attach", cursor, "--json", "--server", server.url)
        self.assert_code(rest, 0)
        done = runner.wait()
        self.assert_code(done, 0)
        self.assertEqual(left.out + rest.out, done.out)

    def test_a_cut_connection_comes_back_without_loss(self):
        server = self.serve()
        proxy = self.proxy(server.port)
        runner = self.start("workflow", "run", "held", "--json", "--server", proxy.url)
        runner.wait_line("out", "begun")
        proxy.cut()
        runner.wait_line("err", '"swamp":"reconnecting"')
        self.go()
        done = runner.wait()
        self.assert_code(done, 0)
        run = self.events(done)[-1]["run"]["id"]
        self.assertEqual(self.swamp("run", "attach", run, "--json", "--server", server.url).out, done.out)

    def test_words_for_people_about_a_cut_connection(self):
        server = self.serve()
        proxy = self.proxy(server.port)
        runner = self.start("workflow", "run", "held", "--server", proxy.url)
        runner.wait_line("out", "begun")
        proxy.cut()
        runner.wait_line("err", r"^\[reconnecting\.\.\.\]$")
        self.go()
        self.assert_code(runner.wait(), 0)

    def test_a_killed_instance_is_3_with_the_final_status(self):
        quick = ["--heartbeat-interval", "100ms", "--stale-ttl", "500ms", "--reconciliation-interval", "200ms"]
        owner, other = self.serve(*quick), self.serve(*quick)
        proxy = self.proxy(owner.port)
        runner = self.start("workflow", "run", "held", "--server", proxy.url)
        run = self.run_id(runner)
        runner.wait_line("out", "begun")
        proxy.port_behind = other.port  # what a load balancer does
        owner.send(signal.SIGKILL)
        proxy.cut()
        done = runner.wait()
        self.assert_code(done, 3)
        self.assertIn("Run was interrupted (instance died). Checking final status...\n", done.err)
        self.assertIn("run %s was interrupted (instance died), final status: failed" % run, done.err)
        record = json.loads(self.swamp("workflow", "history", "get", run, "--json").out)
        self.assertEqual((record["status"], record["interruptReason"]), ("failed", "instance_dead"))

    def test_a_run_on_another_instance_is_found(self):
        one, other = self.serve(), self.serve()
        runner = self.start("workflow", "run", "held", "--server", one.url)
        run = self.run_id(runner)
        runner.wait_line("out", "begun")
        viewer = self.start("run", "attach", run, "--server", other.url)
        viewer.wait_line("err", r"^\[run is on another instance, retrying\.\.\.\]$")
        viewer.wait_line("out", "begun")  # from the third time on it dials the owner's address
        self.go()
        self.assert_code(viewer.wait(), 0)
        self.assert_code(runner.wait(), 0)

    def test_a_planned_stop_waits_for_runs(self):
        server = self.serve()
        runner = self.start("workflow", "run", "held", "--server", server.url)
        runner.wait_line("out", "begun")
        server.send(signal.SIGTERM)
        server.wait_line("err", "stopping")
        self.go()
        self.assert_code(runner.wait(), 0)
        self.assert_code(server.wait(), 0)
        self.assertEqual(self.swamp("cluster", "instances", "--json").out, "")

    def test_a_second_signal_ends_runs_as_interrupted(self):
        server = self.serve()
        runner = self.start("workflow", "run", "held", "--server", server.url)
        run = self.run_id(runner)
        runner.wait_line("out", "begun")
        server.send(signal.SIGTERM)
        server.wait_line("err", "stopping")
        server.send(signal.SIGTERM)
        done = server.wait()
        self.assert_code(done, 0)
        self.assertRegex(done.err.splitlines()[-1], r" info +stopped, runs cancelled for it: 1$")
        record = json.loads(self.swamp("workflow", "history", "get", run, "--json").out)
        self.assertEqual((record["status"], record["interruptReason"]), ("cancelled", "instance_shutdown"))
        runner.send(signal.SIGINT)
        runner.send(signal.SIGINT)
        self.assertIn(runner.wait().code, (3, 4, 130))

    def test_an_instance_declared_dead_goes_on_as_a_new_one_on_its_port(self):
        quick = ["--heartbeat-interval", "100ms", "--stale-ttl", "500ms", "--reconciliation-interval", "200ms"]
        paused = self.serve(*quick, "--instance-id-file", "id")
        self.serve(*quick)
        paused.send(signal.SIGSTOP)
        wait_until(lambda: paused.instance not in self.swamp("cluster", "instances", "--json").out, "its death")
        paused.send(signal.SIGCONT)
        match = paused.wait_line("out", r"listening on (\S+) \(instance (?!%s)(\S+)," % paused.instance)
        self.assertEqual(match.group(1), paused.url)
        with open(self.path("id"), encoding="ascii") as file:
            self.assertEqual(file.read().strip(), match.group(2))
        self.assert_code(self.swamp("workflow", "run", "hello", "--server", paused.url), 0)

    def test_no_server_there_is_4(self):
        server = self.serve()
        server.send(signal.SIGTERM)
        server.wait()
        done = self.swamp("cluster", "instances", "--server", server.url, "--timeout", "2s")
        self.assert_code(done, 4)
        self.assertIn(server.url, done.err)

    def test_lists_and_version_from_a_server(self):
        server = self.serve()
        rows = [json.loads(l) for l in self.swamp("workflow", "list", "--json", "--server", server.url).out.splitlines()]
        self.assertEqual(sorted(r["name"] for r in rows), ["bad", "held", "hello"])
        self.assertEqual(rows, [json.loads(l) for l in self.swamp("workflow", "list", "--json").out.splitlines()])
        row = json.loads(self.swamp("cluster", "instances", "--json", "--server", server.url).out)
        self.assertEqual((row["instanceId"], row["status"]), (server.instance, "healthy"))
        self.assertRegex(self.swamp("version").out, r"^swamp \d+\.\d+\.\d+")

    def test_too_many_runs_are_refused_as_7(self):
        server = self.serve("--max-concurrent-runs", "1")
        runner = self.start("workflow", "run", "held", "--server", server.url)
        runner.wait_line("out", "begun")
        done = self.swamp("workflow", "run", "hello", "--server", server.url)
        self.assert_code(done, 7)
        self.assertIn("nothing was started", done.err)
        self.go()
        self.assert_code(runner.wait(), 0)

    def test_a_connection_lost_before_the_run_was_accepted_is_4_and_says_what_is_not_known(self):
        with Hangup() as port:
            done = self.swamp("workflow", "run", "hello", "--server", "http://127.0.0.1:%d" % port)
        self.assert_code(done, 4)
        self.assertIn("may or may not have been started", done.err)

    def test_the_listening_line_as_json(self):
        server = self.start("serve", "--port", "0", "--log-format", "json", "--drain-grace", "0")
        line = json.loads(server.wait_line("out", "listening").string)
        self.assertEqual(line["url"][:17], "http://127.0.0.1:")
        self.assertEqual(len(line["instanceId"]), 36)
        server.send(signal.SIGTERM)
        done = server.wait()
        self.assert_code(done, 0)
        for entry in done.err.splitlines():
            self.assertEqual(sorted(json.loads(entry)), ["level", "message", "time"])
        self.assertRegex(done.err, "network loop: (poll|libev)")

    def test_on_a_terminal_there_is_a_live_view_and_the_result_comes_last(self):
        self.write_workflow("loud", workflow("loud", "echo begun; printf '\\033[2Jx\\n'; while ! test -e go; do sleep 0.05; done"))
        with Terminal([swamp_test.SWAMP, "workflow", "run", "loud"], {**self.env, "TERM": "xterm"}, self.folder) as terminal:
            terminal.wait_for("job/step\r\n  | begun\r\n")
            terminal.wait_for("  | \\x1b[2Jx\r\n")
            terminal.wait_for("  running   job  0/1  ")
            self.go()
            text = terminal.finish()
        self.assertEqual(terminal.code, 0)
        self.assertRegex(text.rstrip().splitlines()[-1], r"run \S{36} succeeded in .* s; see it again: swamp workflow history get ")
        self.assertNotIn("\033[2J", text)
        self.assertNotIn("\033[32m", text)  # NO_COLOR

    def test_doctor_finds_a_store_that_was_moved_away(self):
        self.assert_code(self.swamp("workflow", "run", "hello"), 0)
        os.rename(self.path(".swamp/control-plane.db"), self.path("moved.db"))
        for words in ([], ["--store", "sqlite:.swamp/control-plane.db"]):
            done = self.swamp("doctor", *words)
            self.assert_code(done, 1)
            self.assertRegex(done.out, r"(?m)^!! the store's file \S+/control-plane\.db is not there, but "
                                       r"\S+/control-plane\.db\.lock is: .*put it back")
            self.assertNotIn("absent", done.out)
        os.rename(self.path("moved.db"), self.path(".swamp/control-plane.db"))
        self.assert_code(self.swamp("doctor"), 0)
        os.remove(self.path(".swamp/control-plane.db"))
        os.remove(self.path(".swamp/control-plane.db.lock"))
        self.assert_code(self.swamp("doctor"), 0)  # as if it had never been there

    def test_doctor_finds_a_dead_instance(self):
        done = self.swamp("doctor")
        self.assert_code(done, 0)
        server = self.serve("--heartbeat-interval", "100ms", "--stale-ttl", "300ms")
        self.assert_code(self.swamp("doctor"), 0)
        server.send(signal.SIGKILL)
        server.wait()
        wait_until(lambda: self.swamp("doctor").code == 1, "a finding")
        self.assertIn("instance %s" % server.instance, self.swamp("doctor").out)


swamp_test.main()

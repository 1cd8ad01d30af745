"""What is refused at the start: flags, values, variables, config files, ports and stores; each names what is allowed."""
import os
import socket
import subprocess
import unittest

import swamp_test
from swamp_test import SwampTest

# flags, what the one line must hold
BAD_FLAGS = [
    (["--port", "99999"], '--port is "99999"', "0 to 65535"),
    (["--port", "x"], '--port is "x"', "0 to 65535"),
    (["--port=-1"], '--port is "-1"', "0 to 65535"),
    (["--prot", "1"], "unknown flag --prot", "--port"),
    (["-x"], "unknown flag -x", "-h"),
    (["--port"], "--port needs a value", "--port N"),
    (["--host", ""], '--host is ""', "a value"),
    (["--heartbeat-interval", "fast"], '--heartbeat-interval is "fast"', "30s, 5m, 1h"),
    (["--heartbeat-interval", "1.5s"], '--heartbeat-interval is "1.5s"', "50ms to 1h"),
    (["--heartbeat-interval", "1ms"], '--heartbeat-interval is "1ms"', "50ms to 1h"),
    (["--stale-ttl", "19s"], '--stale-ttl is "19s"', "20s or more"),
    (["--heartbeat-interval", "20s"], '--stale-ttl is "30s"', "40s or more"),
    (["--log-format", "xml"], '--log-format is "xml"', "text|json"),
    (["--log-level", "loud"], '--log-level is "loud"', "error|warn|info|debug"),
    (["--auth-mode", "token"], '--auth-mode is "token"', "yet"),
    (["--auth-mode", "ldap"], '--auth-mode is "ldap"', "none|token"),
    (["--store", "postgres://db"], '--store is "postgres://db"', "sqlite:PATH"),
    (["--store", "file.db"], '--store is "file.db"', "sqlite:PATH"),
    (["--store", "sqlite:"], '--store is "sqlite:"', "sqlite:PATH"),
    (["--cert-file", "x.pem"], '--cert-file is "x.pem"', "--key-file"),
    (["--host", "0.0.0.0"], '--host is "0.0.0.0"', "--insecure"),
    (["--advertise", "ftp://x"], '--advertise is "ftp://x"', "http"),
    (["--workflows", "/nowhere"], '--workflows is "/nowhere"', "a folder"),
    (["--trust-proxy"], "--trust-proxy", "yet"),
    (["--insecure=perhaps"], '--insecure is "perhaps"', "true or false"),
    (["--max-concurrent-runs", "0"], '--max-concurrent-runs is "0"', "1 to"),
    (["word"], '"word" is one word too many', "swamp serve"),
    (["--config", "missing.yaml"], "missing.yaml", "No such file"),
]


class Refusals(SwampTest):
    def assert_refused(self, done, *fragments):
        self.assert_code(done, 2)
        self.assertEqual(done.out, "")
        self.assertEqual(len(done.err.splitlines()), 1, repr(done))
        for fragment in fragments:
            self.assertIn(fragment, done.err)

    def test_every_bad_flag_is_named_with_its_value_and_what_is_allowed(self):
        for flags, *fragments in BAD_FLAGS:
            with self.subTest(flags=flags):
                self.assert_refused(self.swamp("serve", "--port", "0", *flags), *fragments)

    def test_a_bad_variable_is_named(self):
        # what Kubernetes sets for a service named swamp-serve
        done = self.swamp("serve", env={"SWAMP_SERVE_PORT": "tcp://10.0.0.1:9090"})
        self.assert_refused(done, "--port (from the variable SWAMP_SERVE_PORT)", "tcp://10.0.0.1:9090", "0 to 65535")
        done = self.swamp("serve", env={"SWAMP_SERVE_STORE": "wrong", "SWAMP_STORE": "memory:"})
        self.assert_refused(done, "--store", '"wrong"', "sqlite:PATH")

    def test_a_bad_config_file_is_named_with_its_line(self):
        for text, *fragments in [
            ("port: 0\nhots: x\n", "c.yaml:2: hots", "--host"),
            ("port: 70000\n", 'c.yaml:1: port is "70000"', "0 to 65535"),
            ("port: [1]\n", "c.yaml:1: port", "one plain value"),
            ("- port\n", "c.yaml", "an object"),
            ('{"port": 0', "c.yaml"),
        ]:
            with self.subTest(text=text):
                with open(self.path("c.yaml"), "w", encoding="utf-8") as file:
                    file.write(text)
                self.assert_refused(self.swamp("serve", "--config", "c.yaml"), *fragments)

    def test_precedence_is_flag_variable_config_default(self):
        with open(self.path("c.json"), "w", encoding="utf-8") as file:
            file.write('{"stale-ttl": "1s", "heartbeat-interval": "1s"}')
        refused = lambda *flags, **env: self.swamp("serve", "--config", "c.json", "--port", "0", *flags, env=env)
        self.assert_refused(refused(), '--stale-ttl is "1s"')
        self.assert_refused(refused(SWAMP_SERVE_STALE_TTL="1500ms"), '--stale-ttl is "1500ms"')
        self.assert_refused(refused("--stale-ttl", "1900ms", SWAMP_SERVE_STALE_TTL="1h"), '--stale-ttl is "1900ms"')

    def test_a_port_in_use_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            self.assert_refused(self.swamp("serve", "--port", port), '--port is "%s"' % port, "in use")

    def test_stores_that_cannot_be_used_are_named(self):
        with open(self.path("text"), "w", encoding="utf-8") as file:
            file.write("this is not a database, but it is longer than a header of one hundred bytes\n" * 3)
        for path, *fragments in [("text", "text"), (".", "names no file"), ("workflows", "is a folder"), ("no/such/folder/x.db", "no/such")]:
            with self.subTest(path=path):
                done = self.swamp("serve", "--port", "0", "--store", "sqlite:" + path)
                self.assert_refused(done, '--store is "sqlite:%s"' % path, *fragments)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_read_only_store_is_named(self):
        os.mkdir(self.path("locked"), 0o500)
        self.assert_refused(self.swamp("serve", "--port", "0", "--store", "sqlite:locked/x.db"), "locked", "user")

    def test_attach_without_a_server_is_usage(self):
        self.assert_refused(self.swamp("run", "attach", "x"), "--server", "SWAMP_SERVE_URL")

    def test_a_missing_folder_of_workflows_is_named_by_whoever_reads_it(self):
        for words in (["workflow", "run", "hello"], ["workflow", "list"], ["serve", "--port", "0"]):
            self.assert_refused(self.swamp(*words, "--workflows", "/nope"), '--workflows is "/nope"', "a folder")
        self.assertFalse(os.path.exists(self.path(".swamp")))  # found out before a store is made

    def assert_token_refused(self, token, fragment):
        """By flag and by variable, before anything is dialled, and never shown."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            server = ["--server", "http://127.0.0.1:%d" % listener.getsockname()[1]]
            for flags, env in ((["--token", token], {}), ([], {"SWAMP_SERVER_TOKEN": token})):
                for words in (["run", "history"], ["workflow", "run", "hello"]):
                    done = self.swamp(*words, *server, *flags, env=env)
                    self.assert_refused(done, "--token or SWAMP_SERVER_TOKEN", fragment)
                    self.assertNotIn("s3cret", done.err)
            with self.assertRaises(BlockingIOError):
                listener.accept()

    def test_a_token_with_a_line_end_is_refused_and_not_shown(self):
        for token in ("a.s3cret\r\nX-Evil: 1", "a.s3cret\n", "a.s3 s3cret", "a.s3cret\x7f", "a.s3cret\u00e9"):
            with self.subTest(token=token):
                self.assert_token_refused(token, "visible ASCII")

    def test_a_token_that_is_too_long_is_refused_before_it_is_dialled_with(self):
        self.assert_token_refused("a.s3cret" + "x" * 505, "513 characters, allowed are 512")

    def test_inputs_that_cannot_be_read_are_named(self):
        self.assert_refused(self.swamp("workflow", "run", "hello", "--input", "x"), '--input is "x"', "k:json=V")
        self.assert_refused(self.swamp("workflow", "run", "hello", "--input", "n:json={"), "n:json={", "no JSON")
        self.assert_refused(self.swamp("workflow", "run", "hello", "--stdin", stdin="[1]"), "--stdin", "object")

    def test_an_unknown_command_is_usage_and_help_is_not(self):
        self.assert_refused(self.swamp("wrokflow", "run"), "wrokflow run", "swamp -h")
        for words in (["-h"], ["serve", "-h"], ["workflow", "run", "--help"]):
            self.assert_code(self.swamp(*words), 0)
        self.assert_refused(self.swamp("workflow"), "beginning of a command", "swamp workflow -h")
        self.assertIn("workflow history get", self.swamp("workflow", "-h").out)
        self.assertNotIn("access", self.swamp("-h").out)  # known, refused, and offered to nobody
        self.assert_refused(self.swamp("access", "token", "list"), "cannot make or check tokens yet")

    def test_completions_are_shell_and_offer_words_flags_and_values(self):
        script = self.swamp("completions", "bash").out + """
            try() { COMP_WORDS=(swamp "$@"); COMP_CWORD=$#; _swamp; echo "${COMPREPLY[*]}"; }
            try ""; try workflow h; try workflow history ""; try serve --log-format ""; try serve --auth-mode ""
            try serve --st; try completions ""; try workflow validate ""
            """
        done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout.split("\n")[:8],
                         ["serve workflow run cluster doctor completions version", "history", "get", "text json",
                          "none", "--store --stale-ttl", "bash zsh fish", ""])

    def test_doctor_gives_no_advice_about_files_that_are_not_ours(self):
        with open(self.path("notes.txt"), "w", encoding="ascii") as file:
            file.write("not a database\n" * 20)
        done = self.swamp("doctor", "--store", "sqlite:notes.txt")
        self.assert_code(done, 1)
        self.assertIn("no SQLite database", done.out)
        self.assertNotIn("chmod", done.out)

    def test_a_workflow_file_with_mistakes_is_2_with_file_and_line(self):
        self.write_workflow("broken", "name: broken\njobs: 3\n")
        done = self.swamp("workflow", "validate", "workflows/broken.yaml")
        self.assert_code(done, 2)
        self.assertRegex(done.out, r"workflows/broken\.yaml:\d+: ")
        done = self.swamp("workflow", "run", "broken")
        self.assert_code(done, 2)
        self.assertRegex(done.err.splitlines()[-1], r"workflow broken: broken\.yaml:\d+: ")


swamp_test.main()

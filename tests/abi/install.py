"""Installs into a folder of its own and builds an example there by pkg-config alone.

Usage: install.py MESON BUILD-FOLDER EXAMPLE.c PROGRAM COMPILER...   (PROGRAM: the name of what is built)
"""
import os
import shlex
import subprocess
import sys
import tempfile

MESON, BUILD, SOURCE, PROGRAM, *COMPILER = sys.argv[1:]


def check(holds, text):
    if not holds:
        raise SystemExit("install: " + text)


def call(*args, **more):
    done = subprocess.run(args, capture_output=True, text=True, **more)
    check(done.returncode == 0, f"{shlex.join(args)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find(root, name):
    found = [os.path.join(base, name) for base, _, names in os.walk(root) if name in names]
    check(len(found) == 1, f"{name} is installed {len(found)} times")
    return found[0]


def main():
    with tempfile.TemporaryDirectory() as root:
        call(MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root)
        for name in ("swamp.h", "server.h", "client.h", "run.h", "event.h", "store.h", "status.h", "log.h", "version.h",
                     "attributes.h"):
            check(os.path.basename(os.path.dirname(find(root, name))) == "swamp", f"{name} is not in swamp/")
        pc = find(root, "swamp.pc")
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc), PKG_CONFIG_SYSROOT_DIR=root)
        flags = shlex.split(call("pkg-config", "--cflags", "--libs", "swamp", env=environment))
        check("-lswamp" in flags and not any("websockets" in flag for flag in flags), f"flags are {flags}")
        program = os.path.join(root, PROGRAM)
        call(*COMPILER, "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE, *flags)
        libraries = os.path.dirname(find(root, "libswamp.so.0"))
        done = subprocess.run([program], capture_output=True, text=True,
                              env=dict(os.environ, LD_LIBRARY_PATH=libraries))
        check(done.returncode == 2 and "usage" in done.stderr, f"{PROGRAM} ended with {done.returncode}: {done.stderr}")
        check(find(root, "libswamp.so").startswith(root), "no link for the linker")


main()

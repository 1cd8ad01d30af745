"""What the headers and the symbol map promise is what tests/abi/libswamp.abi says, or more: nothing removed, changed, moved.

Usage: changes.py COMPILER...           compares (abidiff of libabigail); functions that were added are no change
       changes.py COMPILER... --write   makes the dump anew, after members were added at the end of a struct of options:
                                        the only change that abidiff reports and docs/ABI.md allows; a reviewer reads the
                                        dump's diff

The dump is of a library of empty bodies made from the headers: of the real one it would hold what handles point to.
exports.py holds the real one against headers and map.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.environ["SWAMP_SOURCE_ROOT"]
DUMP = os.path.join(ROOT, "tests", "abi", "libswamp.abi")
HEADERS = os.path.join(ROOT, "include", "swamp")


def prototypes():
    """Each declaration up to its last parenthesis, without attributes behind it."""
    for name in sorted(os.listdir(HEADERS)):
        with open(os.path.join(HEADERS, name), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for match in re.finditer(r"\bSWAMP_API\b[^;({#]*\bswamp_\w+\(", text):
            end, depth = match.end(), 1
            while depth:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            yield re.sub(r"\s+", " ", text[match.start():end])


def make_library(compiler, folder):
    source, library = os.path.join(folder, "empty.c"), os.path.join(folder, "libswamp.so.0")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <swamp/swamp.h>\n")
        file.writelines(line + " { __builtin_trap(); }\n" for line in prototypes())
    subprocess.run([*compiler, "-std=c11", "-g", "-O0", "-w", "-shared", "-fPIC", "-nostdlib", "-fvisibility=hidden",
                    "-I", os.path.join(ROOT, "include"), "-I", os.environ["SWAMP_BUILD_INCLUDE"],
                    "-Wl,-soname,libswamp.so.0", "-Wl,--version-script," + os.path.join(ROOT, "libswamp", "libswamp.map"),
                    "-o", library, source], check=True)
    return library


def main():
    compiler = [word for word in sys.argv[1:] if word != "--write"]
    if not shutil.which("abidiff"):
        print("abidiff is not installed: scripts/packages --full (abigail-tools)")
        return 1
    if platform.machine() != "x86_64":
        print("SKIP: the dump is of x86_64")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        library = make_library(compiler, folder)
        if "--write" in sys.argv[1:]:
            return subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
                                   "--no-parameter-names", "--out-file", DUMP, library]).returncode
        done = subprocess.run(["abidiff", "--no-added-syms", DUMP, library], capture_output=True, text=True)
    print(done.stdout + done.stderr)
    if done.returncode:
        print("docs/ABI.md says what may change, and when the dump is made anew")
    return 1 if done.returncode else 0


sys.exit(main())

"""Each public header compiles alone, as C99 and as C++17, with all warnings as errors; public structs have no padding."""
import os
import subprocess
import sys
import tempfile

ROOT = os.environ["SWAMP_SOURCE_ROOT"]


def main():
    language, compiler, *flags = sys.argv[1:]
    include = ["-I", os.path.join(ROOT, "include"), "-I", os.environ["SWAMP_BUILD_INCLUDE"]]
    headers = sorted(n[:-3] if n.endswith(".in") else n for n in os.listdir(os.path.join(ROOT, "include", "swamp"))
                     if n.endswith((".h", ".h.in")))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            source = os.path.join(folder, "alone." + ("cpp" if language == "c++" else "c"))
            with open(source, "w") as file:
                file.write(f"#include <swamp/{header}>\nint main(void) {{ return 0; }}\n")
            done = subprocess.run([compiler, "-x", language, *flags, "-Wall", "-Wextra", "-pedantic", "-Werror", "-Wpadded",
                                   "-fsyntax-only", *include, source], capture_output=True, text=True)
            if done.returncode:
                print(header, done.stderr, sep="\n")
                wrong = 1
    print(f"{len(headers)} headers")
    return wrong


sys.exit(main())

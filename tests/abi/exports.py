"""Declarations in include/swamp, names in libswamp.map, and what the built library exports are the same set."""
import os
import re
import subprocess
import sys

ROOT = os.environ["SWAMP_SOURCE_ROOT"]


def declared():
    names = set()
    folder = os.path.join(ROOT, "include", "swamp")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name)) as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        names.update(re.findall(r"SWAMP_API\b[^;(]*?\b(swamp_\w+)\(", text))
    return names


def mapped():
    with open(os.path.join(ROOT, "libswamp", "libswamp.map")) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return set(re.findall(r"\b(swamp_\w+);", text))


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines() if line.split()[-2] in "TDBR"}


def main():
    sets = {"headers": declared(), "libswamp.map": mapped(), "nm -D": exported(sys.argv[1])}
    everything = set().union(*sets.values())
    wrong = 0
    for name in sorted(everything):
        missing = [where for where, names in sets.items() if name not in names]
        if missing:
            print(f"{name} is missing in: {', '.join(missing)}")
            wrong = 1
    print(f"{len(everything)} names")
    return wrong or not everything


sys.exit(main())

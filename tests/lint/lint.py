"""House rules that can be read off the source: layers, sizes, docstrings, forbidden words. One rule per argument.

Rules are those of docs/STYLE.md; each is a test of its own (tests/lint/meson.build), so that its name says what broke.
"""
import os
import re
import subprocess
import sys

ROOT = os.environ.get("SWAMP_SOURCE_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Lower folders never include higher ones.
BELOW = {
    "util": [],
    "wire": ["util"],
    "store": ["util", "wire"],
    "run": ["util", "wire", "store"],
    "server": ["util", "wire", "store", "run"],
    "session": ["util", "wire"],
    "net": ["util", "wire", "store", "run", "server", "session"],
    "api": ["util", "wire", "store", "run", "server", "session", "net"],
}

# A dependency's header, and the only places that may see it.
ONLY_IN = {
    r"cjson/cJSON\.h|cJSON\.h": [r"libswamp/wire/document\w*\.c", r"cli/json\.c", r"cli/workflow/json\.c", r"tests/.*"],
    r"sqlite3\.h": [r"libswamp/store/sqlite\.c", r"tests/.*"],
    r"libwebsockets\.h": [r"libswamp/net/.*", r"tests/system/.*", r"bench/.*"],
    r"uthash\.h": [r"libswamp/util/map\.c"],
    r"yaml\.h": [r"cli/workflow/yaml\.c", r"cli/yaml\.c"],
}

FILE_MAX = 700
FUNCTION_MAX = 100


def files(*endings, under=None):
    found = []
    for folder in under or ["include", "libswamp", "cli", "examples", "tests", "bench"]:
        for base, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith(endings):
                    found.append(os.path.relpath(os.path.join(base, name), ROOT))
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def includes(path):
    return re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', read(path), re.M)


def rule_layers():
    """libswamp's folders include downwards only; cli and examples see the public interface only."""
    for path in files(".c", ".h", under=["libswamp"]):
        layer = path.split("/")[1]
        for mark, name in includes(path):
            if mark == "<":
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), name)).split("/")
            if target[0] != "libswamp" or (target[1] != layer and target[1] not in BELOW[layer]):
                yield f"{path}: {layer}/ may not include {name}"
    for path in files(".c", ".h", under=["cli", "examples"]):
        for mark, name in includes(path):
            if "libswamp" in name or (name.startswith("swamp/") and name != "swamp/swamp.h"):
                yield f"{path}: includes {name}, but may see <swamp/swamp.h> only"


def rule_dependencies():
    """Each dependency is seen in its one place."""
    for path in files(".c", ".h"):
        for _, name in includes(path):
            for header, places in ONLY_IN.items():
                if re.fullmatch(header, name) and not any(re.fullmatch(place, path) for place in places):
                    yield f"{path}: includes {name}, which only {' and '.join(places)} may"


def functions(text):
    """(name, first line, lines) of each function: house style puts its name in the first column."""
    lines = text.split("\n")
    name, start = None, 0
    for number, line in enumerate(lines, 1):
        match = re.match(r"(\w+)\(", line)
        if match and not line.rstrip().endswith(";"):
            name, start = match.group(1), number
        if line == "}" and name:
            yield name, start, number - start + 1
            name = None


def rule_sizes():
    """No file over 700 lines, no function over 100; both bounds are only ever lowered."""
    for path in files(".c", ".h"):
        text = read(path)
        count = text.count("\n")
        if count > FILE_MAX:
            yield f"{path}: {count} lines, at most {FILE_MAX}"
        for name, start, length in functions(text):
            if length > FUNCTION_MAX:
                yield f"{path}:{start}: {name} has {length} lines, at most {FUNCTION_MAX}"


def rule_first_line():
    """A file says in its first line what it is for."""
    for path in files(".c", ".h"):
        if not re.match(r"/\*( .+|\n \* .+)", read(path)):
            yield f"{path}: does not begin with a comment that says what it is for"


def rule_docstrings():
    """Every public function has a sentence, its parameters, @return, @thread from the closed list, @since."""
    for path in files(".h", ".h.in", under=["include"]):
        text = read(path)
        for match in re.finditer(r"(/\*\*(?:(?!\*/).)*\*/)\s*SWAMP_API([^;]*);", text, re.S):
            doc, declaration = match.groups()
            name = re.search(r"(swamp_\w+)\(", declaration).group(1)
            args = re.search(r"\((.*)\)", declaration, re.S).group(1)
            for tag in ("@return", "@thread", "@since"):
                if tag not in doc:
                    yield f"{path}: {name} has no {tag}"
            thread = re.search(r"@thread +(.*)", doc)
            if thread and thread.group(1).strip() not in ("any", "owner", "library callback"):
                yield f"{path}: {name}: @thread {thread.group(1)} is not any, owner or library callback"
            if args.strip() != "void":
                for arg in re.split(r",(?![^(]*\))", args):
                    word = re.findall(r"\w+", re.sub(r"\[.*", "", arg))[-1]
                    if not re.search(r"@param(\[out\])?\s+" + word + r"\b", doc):
                        yield f"{path}: {name} does not describe {word}"
        if len(re.findall(r"\bSWAMP_API\b[^;{]*\(", re.sub(r"#define.*", "", text))) != len(
                re.findall(r"/\*\*(?:(?!\*/).)*\*/\s*SWAMP_API", text, re.S)):
            yield f"{path}: a public function has no docstring"


def rule_names():
    """Private functions that cross files are swamp__module_verb; all others are static."""
    for path in files(".c", under=["libswamp"]):
        lines = read(path).split("\n")
        for number, line in enumerate(lines[1:], 2):
            match = re.match(r"(\w+)\(", line)
            if not match or line.rstrip().endswith(";") or lines[number - 2].startswith((" ", "#", "}", "/")):
                continue
            is_static = "static" in lines[number - 2]
            if not is_static and not match.group(1).startswith(("swamp__", "swamp_")):
                yield f"{path}:{number}: {match.group(1)} is neither static nor named swamp__..."


def rule_sql():
    """A bare BEGIN fails at once with BUSY_SNAPSHOT: always BEGIN IMMEDIATE, or BEGIN for reads marked /* read */."""
    for path in files(".c", under=["libswamp"]):
        for number, line in enumerate(read(path).split("\n"), 1):
            if re.search(r'"\s*BEGIN\b(?! IMMEDIATE)', line) and "read" not in line:
                yield f"{path}:{number}: a bare BEGIN"


def rule_words():
    """No C++ comments, no VLA-prone alloca, no printing and no exit in the library."""
    for path in files(".c", ".h", under=["libswamp", "include"]):
        for number, line in enumerate(read(path).split("\n"), 1):
            code = re.sub(r'"(\\.|[^"\\])*"', '""', line)
            code = re.sub(r"/\*.*?\*/", "", code)
            if re.search(r"(?<!:)//", code) and not code.strip().startswith("*"):
                yield f"{path}:{number}: a // comment"
            if re.search(r"\b(alloca|printf|puts|perror|exit|abort)\s*\(", code) and not code.strip().startswith("*"):
                yield f"{path}:{number}: the library does not print, exit or use alloca"
            if re.search(r"\b(malloc|calloc|realloc|strdup|strndup|free)\s*\(", code) and path != "libswamp/util/alloc.c" \
                    and not code.strip().startswith("*") and not re.search(r"(->|\.)free\(", code):
                yield f"{path}:{number}: allocation passes util/alloc.h"


def rule_format():
    """clang-format agrees, where version 14 is installed."""
    tool = next((name for name in ("clang-format-14", "clang-format") if _version(name) == "14"), None)
    if not tool:
        print("clang-format 14 is not installed: skipped")
        sys.exit(77)
    done = subprocess.run([tool, "--dry-run", "-Werror"] + files(".c", ".h"), cwd=ROOT, capture_output=True, text=True)
    for path in sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.M))):
        yield f"{path}: run {tool} -i on it"
    if done.returncode and " error" not in done.stderr:
        yield done.stderr


def _version(tool):
    try:
        text = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return None
    match = re.search(r"version (\d+)", text)
    return match and match.group(1)


def rule_vectors():
    """tests/vectors is a copy of the specification's vectors, where those lie beside the checkout."""
    shared = os.path.join(ROOT, "..", "shared", "vectors")
    if not os.path.isdir(shared):
        print("no ../shared here: skipped")
        sys.exit(77)
    for name in sorted(os.listdir(shared)):
        with open(os.path.join(shared, name), "rb") as one:
            try:
                other = open(os.path.join(ROOT, "tests", "vectors", name), "rb").read()
            except OSError:
                other = None
            if one.read() != other:
                yield f"tests/vectors/{name} differs from the specification's"


def rule_cases():
    """Each case of docs/FACTS.md has its row in tests/README.md; tests named there and in sim/cover_rows.c exist."""
    sources = "\n".join(read(path) for path in files(".c", ".py", ".json", under=["tests"]))

    def is_test(name):
        word = name.replace("*", r"\w*")
        return re.search(r"START_TEST\(%s\)|def %s\(|\"name\": *\"%s\"" % (word, word, word), sources)

    cases = re.findall(r"^(\d+)\. ", read("docs/FACTS.md").split("\n## Cases")[1], re.M)
    rows = dict(re.findall(r"^\| (\d+) [^|]*\|(.*)\|$", read("tests/README.md"), re.M))
    for case in cases:
        names = re.findall(r"`(\w+\*?)`", rows.get(case, ""))
        if not names:
            yield f"tests/README.md: case {case} of docs/FACTS.md names no test"
        for name in names:
            if not is_test(name):
                yield f"tests/README.md: case {case}: there is no test {name}"
    held = re.findall(r'\{"[^"]+",\s*"((?:wire|unit) [^"]+)"\}', read("tests/sim/cover_rows.c"))
    if not held:
        yield "tests/sim/cover_rows.c: names no test"
    for name in re.findall(r"(\w+)(?:,|$)", "\n".join(held).replace(", and long runs", ""), re.M):
        if not is_test(name):
            yield f"tests/sim/cover_rows.c: there is no test {name}"


def rule_constants():
    """The value of each public constant is pinned in tests/abi/values.c."""
    pinned = set(re.findall(r"^VALUE\((\w+), ", read("tests/abi/values.c"), re.M))
    for path in files(".h", under=["include"]):
        text = read(path)
        for name in re.findall(r"^#define (SWAMP_\w+)(?: +| *\\\n +)(?:\(?-?[0-9])", text, re.M) + re.findall(r"\bX\((SWAMP_\w+), ", text):
            if name not in pinned:
                yield f"{path}: {name} has no line in tests/abi/values.c"


def main():
    rule = sys.argv[1]
    faults = list(globals()["rule_" + rule]())
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()

/* Values that a person gives in a file or on stdin: YAML or JSON. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "source.h"
#include "workflow/yaml_tree.h"

static int
read_all(const char *file, const char *shown, text *out, text *error)
{
    char part[8192];
    int is_stdin = strcmp(file, "-") == 0;
    FILE *in = is_stdin ? stdin : fopen(file, "re");
    size_t len;

    if (!in) {
        text_addf(error, "%s: %s; check the path", shown, strerror(errno));
        return 0;
    }
    text_add(out, "");
    while (out->len <= SOURCE_MAX && (len = fread(part, 1, sizeof(part), in)) > 0)
        text_add_bytes(out, part, len);
    int failed = ferror(in) ? errno : 0;
    if (!is_stdin)
        fclose(in);
    if (failed)
        text_addf(error, "%s: cannot be read: %s", shown, strerror(failed));
    else if (out->len > SOURCE_MAX)
        text_addf(error, "%s: is longer than %d bytes; make it shorter", shown, SOURCE_MAX);
    return !failed && out->len <= SOURCE_MAX;
}

/* JSON is nearly a subset of YAML, but its messages are better for what begins like JSON. */
static int
looks_like_json(const text *bytes)
{
    size_t at = bytes->len ? strspn(bytes->bytes, " \t\r\n") : 0;
    return bytes->len > at && strchr("{[", bytes->bytes[at]) != NULL;
}

json *
source_read(const char *file, text *error)
{
    const char *shown = strcmp(file, "-") == 0 ? "stdin" : file;
    text bytes = {0};
    char *why = NULL;
    int line = 0;
    json *tree = NULL;

    if (read_all(file, shown, &bytes, error)) {
        if (looks_like_json(&bytes))
            tree = json_read(bytes.bytes, bytes.len, &why, &line);
        if (!tree) { /* also YAML's flow style, which begins like JSON */
            char *other = NULL;
            int other_line = 0;
            tree = yaml_read(bytes.bytes, bytes.len, &other, &other_line);
            if (!tree && !why) {
                why = other;
                line = other_line;
                other = NULL;
            }
            free(other);
        }
        if (!tree)
            text_addf(error, "%s:%d: %s", shown, line, why ? why : "cannot be read");
        free(why);
    }
    text_free(&bytes);
    return tree;
}

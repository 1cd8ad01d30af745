/* Expressions: their grammar, and plain substitution. The shell's quotes are shell.c's. */
#include <stdlib.h>
#include <string.h>
#include "expression.h"
#include "shell.h"

int
expression_is_in(const char *words)
{
    return strstr(words, "${{") != NULL;
}

static int
is_name_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

static const char *
skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static void
refuse_input(const workflow *flow, const char *name, size_t len, text *why)
{
    text_addf(why, "the input '%.*s' is not declared; ", (int)len, name);
    text_add(why, flow->input_count ? "declared are: " : "none is");
    for (size_t i = 0; i < flow->input_count; i++)
        text_addf(why, "%s%s", i ? ", " : "", flow->inputs[i].name);
}

/* At "${{": gives the input's index and moves *at behind "}}"; SIZE_MAX: refused. */
static size_t
read_expression(workflow *flow, const char **at, text *why)
{
    const char *inside = skip_blanks(*at + 3), *close = strstr(inside, "}}"), *name = inside + 7, *end;
    if (!close) {
        text_add(why, "the expression has no closing '}}'");
        return SIZE_MAX;
    }
    end = name;
    if (strncmp(inside, "inputs.", 7) == 0)
        while (is_name_letter(*end))
            end++;
    if (end == name || skip_blanks(end) != close) {
        int len = (int)(close - inside);
        while (len > 0 && strchr(" \t\n", inside[len - 1]))
            len--;
        text_addf(why, "the expression '%.*s' is not supported; only inputs.NAME is", len > 60 ? 60 : len,
                  inside);
        return SIZE_MAX;
    }
    size_t index = workflow_find_input(flow, name, (size_t)(end - name));
    if (index == SIZE_MAX)
        refuse_input(flow, name, (size_t)(end - name), why);
    else if (!flow->inputs[index].used)
        flow->inputs[index].used = 1; /* only written while the file is read: runs share the model */
    *at = close + 2;
    return index;
}

int
expression_to_text(workflow *flow, const char *words, char *const *values, text *out, char **error)
{
    text why = {0};
    for (const char *at = words, *next; *at; at = next) {
        next = strstr(at, "${{");
        if (!next) {
            text_add(out, at);
            break;
        }
        text_add_bytes(out, at, (size_t)(next - at));
        size_t index = read_expression(flow, &next, &why);
        if (index == SIZE_MAX) {
            *error = text_take(&why);
            return 0;
        }
        if (values && values[index])
            text_add(out, values[index]);
    }
    return 1;
}

static void
add_reference(text *out, size_t index, int place)
{
    static const struct {
        const char *before, *after;
    } quotes[] = {
        [SHELL_PLAIN] = {"\"${", "}\""},
        [SHELL_DOUBLE] = {"${", "}"},
        [SHELL_SINGLE] = {"'\"${", "}\"'"},
    };
    text_addf(out, "%s" EXPRESSION_VARIABLE "%zu%s", quotes[place].before, index + 1, quotes[place].after);
}

int
expression_to_shell(workflow *flow, const char *run, text *out, char **error, int *lines)
{
    shell_place place;
    text why = {0};
    const char *at = run;
    *lines = 0;
    shell_begin(&place);
    while (*at) {
        if (strncmp(at, "${{", 3) != 0) {
            *lines += *at == '\n';
            text_add_bytes(out, at, 1);
            shell_step(&place, *at++);
            continue;
        }
        const char *refusal = shell_refuses(&place);
        size_t index = SIZE_MAX;
        if (refusal)
            text_addf(&why,
                      "an expression %s is not supported; take it out of there, for example by "
                      "X=${{ inputs.NAME }} on a line before, and \"$X\" here",
                      refusal);
        else
            index = read_expression(flow, &at, &why);
        if (index == SIZE_MAX) {
            *error = text_take(&why);
            shell_end(&place);
            return 0;
        }
        add_reference(out, index, shell_kind(&place));
        shell_word(&place);
    }
    shell_end(&place);
    return 1;
}

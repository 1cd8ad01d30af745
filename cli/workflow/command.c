/* Environment and directory of one command. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "command.h"
#include "expression.h"
#include "../memory.h"

typedef struct list {
    char **lines; /* NAME=VALUE */
    size_t count;
} list;

/* A later one of the same name replaces an earlier one. Takes line over. */
static void
set_line(list *env, char *line)
{
    size_t name = (size_t)(strchr(line, '=') - line) + 1;
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->lines[i], line, name) == 0) {
            free(env->lines[i]);
            env->lines[i] = line;
            return;
        }
    env->lines = memory_grow(env->lines, env->count + 2, sizeof(*env->lines));
    env->lines[env->count++] = line;
    env->lines[env->count] = NULL;
}

/* An instance started by a step of another one must not hand that one's inputs on. */
static void
add_own(list *env)
{
    for (char **line = environ; *line; line++)
        if (strchr(*line, '=') && strncmp(*line, EXPRESSION_VARIABLE, strlen(EXPRESSION_VARIABLE)) != 0)
            set_line(env, memory_copy(*line));
}

static char *
fill_in(workflow *flow, const char *words, const input_values *values, text *out)
{
    char *error = NULL;
    int fine = expression_to_text(flow, words, values->words, out, &error);
    free(error); /* checked when the file was read: there is none */
    (void)fine;
    return text_take(out);
}

char **
command_env(workflow *flow, const workflow_step *step, const input_values *values, const char *run_id)
{
    list env = {0};
    text line = {0};
    add_own(&env);
    text_addf(&line, "SWAMP_RUN_ID=%s", run_id);
    set_line(&env, text_take(&line));
    for (size_t i = 0; i < values->count; i++)
        if (values->words[i]) {
            text_addf(&line, EXPRESSION_VARIABLE "%zu=%s", i + 1, values->words[i]);
            set_line(&env, text_take(&line));
        }
    for (const json *one = step->env ? step->env->first : NULL; one; one = one->next) {
        text_addf(&line, "%s=", one->key);
        set_line(&env, fill_in(flow, one->words, values, &line));
    }
    return env.lines;
}

void
command_free_env(char **env)
{
    for (char **line = env; *line; line++)
        free(*line);
    free(env);
}

char *
command_dir(workflow *flow, const workflow_step *step, const input_values *values)
{
    text dir = {0};
    return step->working_dir ? fill_in(flow, step->working_dir, values, &dir) : NULL;
}

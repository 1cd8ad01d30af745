/* The swamp program: the table of its commands, and the way from words to one of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd.h"
#include "out.h"
#include "outcome.h"
#include "target.h"

/* clang-format off */
const struct command commands[] = {
    {"serve", "", 0, 0, "Run an instance that hosts the workflows of a folder.", cmd_serve_flags, NULL, "SWAMP_SERVE_", cmd_serve},
    {"workflow run", "NAME", 1, 1, "Run a workflow, on a server or in this process, and follow it to its end.", cmd_workflow_run_flags, target_flags, NULL, cmd_workflow_run},
    {"workflow list", "", 0, 0, "List the workflows of a server or of a folder.", cmd_workflow_list_flags, target_flags, NULL, cmd_workflow_list},
    {"workflow validate", "[FILE|DIR]", 0, 1, "Check workflow files without running them.", cmd_workflow_list_flags, NULL, NULL, cmd_workflow_validate},
    {"workflow history get", "ID|NAME", 1, 1, "Show a recorded run: its id, the end of its id, or the latest of a workflow.", NULL, target_flags, NULL, cmd_workflow_history_get},
    {"run attach", "RUN|CURSOR", 1, 1, "Follow a run that was started elsewhere, from its first event or from a place in it.", cmd_run_attach_flags, target_flags, NULL, cmd_run_attach},
    {"run cancel", "RUN", 1, 1, "Ask a run to end, whichever instance has it.", cmd_run_cancel_flags, target_flags, NULL, cmd_run_cancel},
    {"run history", "", 0, 0, "List runs, the newest first.", cmd_run_history_flags, target_flags, NULL, cmd_run_history},
    {"cluster instances", "", 0, 0, "List the instances that share the store.", NULL, target_flags, NULL, cmd_cluster_instances},
    {"access token mint", "NAME", 1, 1, "", cmd_token_flags, NULL, NULL, cmd_token},
    {"access token list", "", 0, 0, "", cmd_token_flags, NULL, NULL, cmd_token},
    {"access token revoke", "NAME", 1, 1, "", cmd_token_flags, NULL, NULL, cmd_token},
    {"doctor", "", 0, 0, "Look at the store and the cluster, and name what somebody should do something about.", cmd_doctor_flags, NULL, NULL, cmd_doctor},
    {"completions", "bash|zsh|fish", 1, 1, "Print the completions for a shell.", NULL, NULL, NULL, cmd_completions},
    {"version", "", 0, 0, "Print the version.", NULL, NULL, NULL, cmd_version},
    {.name = NULL},
};
/* clang-format on */

/* How many of argv's words are the command's name; 0: it is another command. */
static int
match_words(const char *name, int argc, char **argv)
{
    int words = 0;
    while (*name) {
        size_t len = strcspn(name, " ");
        if (words >= argc || strlen(argv[words]) != len || strncmp(argv[words], name, len) != 0)
            return 0;
        name += len + (name[len] == ' ');
        words++;
    }
    return words;
}

static const struct command *
find_command(int argc, char **argv, int *words)
{
    for (const struct command *one = commands; one->name; one++)
        if ((*words = match_words(one->name, argc, argv)) > 0)
            return one;
    return NULL;
}

/* The commands below the words that were given, or all. */
static void
list_commands(const char *below, FILE *out)
{
    size_t len = strlen(below);
    fprintf(out, "swamp COMMAND [flags]; \"swamp COMMAND -h\" lists a command's flags\n\n");
    for (const struct command *one = commands; one->name; one++) {
        char left[64];
        if (one->summary[0] == '\0' || strncmp(one->name, below, len) != 0)
            continue;
        snprintf(left, sizeof(left), "%s %s", one->name, one->operands);
        fprintf(out, "  %-32s %s\n", left, one->summary);
    }
}

static int
has_commands(const char *below)
{
    for (const struct command *one = commands; one->name; one++)
        if (strncmp(one->name, below, strlen(below)) == 0)
            return 1;
    return 0;
}

static int
wants_a_list(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
            return 1;
    return 0;
}

static int
no_command(int argc, char **argv)
{
    int asked = argc > 0 && (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--help") == 0 ||
                             strcmp(argv[0], "help") == 0);
    if (argc > 0 && strcmp(argv[0], "--version") == 0)
        return cmd_version(NULL);
    if (asked || argc == 0) {
        list_commands("", asked ? stdout : stderr);
        return asked ? OUTCOME_DONE
                     : out_fail(OUTCOME_USAGE, NULL, "no command was given; \"swamp -h\" lists them");
    }
    text words = {0};
    text_add(&words, argv[0]);
    for (int i = 1; i < argc && argv[i][0] != '-'; i++)
        text_addf(&words, " %s", argv[i]);
    text below = {0};
    text_addf(&below, "%s ", words.bytes);
    int code = 0, is_part = has_commands(below.bytes), wants_help = wants_a_list(argc, argv);
    if (is_part && wants_help)
        list_commands(below.bytes, stdout);
    else if (is_part)
        code = out_fail(OUTCOME_USAGE, NULL,
                        "\"%s\" is only the beginning of a command; \"swamp %s -h\" lists what goes on",
                        words.bytes, words.bytes);
    else
        code =
            out_fail(OUTCOME_USAGE, NULL, "there is no command \"%s\"; \"swamp -h\" lists them", words.bytes);
    text_free(&below);
    text_free(&words);
    return code;
}

static int
run_command(const struct command *command, int argc, char **argv)
{
    struct args args;
    text words = {0};
    int code = args_read(&args, command, argc, argv, getenv, &words);
    int help = args.help;

    if (help) {
        args_help(command, &words);
        fputs(words.bytes, stdout);
    } else if (code != 0) {
        out_setup(command->name, args_number(&args, "json") != 0, 0, 0, 1);
        code = out_fail(code, NULL, "%s", words.bytes);
    } else {
        out_setup(command->name, args_number(&args, "json") != 0, args_number(&args, "quiet") != 0,
                  args_number(&args, "verbose") != 0, args_number(&args, "no-color") != 0);
        code = command->run(&args);
    }
    text_free(&words);
    args_free(&args);
    return code;
}

int
main(int argc, char **argv)
{
    int words = 0;
    const struct command *command = find_command(argc - 1, argv + 1, &words);

    out_setup("", 0, 0, 0, 1);
    int code =
        command ? run_command(command, argc - 1 - words, argv + 1 + words) : no_command(argc - 1, argv + 1);
    if (fflush(stdout) != 0 && code == 0) /* a full disk, or a reader that has gone */
        code = out_fail(OUTCOME_FAILED, NULL, "the output could not be written; the command itself was done");
    return code;
}

/* `swamp completions`: commands, flags and their values for bash, zsh and fish, made of the same tables as everything else. */
#include <string.h>
#include "cmd.h"
#include "out.h"
#include "outcome.h"

/* The values of a choice that this version can do, with spaces between them. */
static void
add_choices(text *out, const char *allowed, const char *refused)
{
    const char *between = "";
    while (*allowed) {
        size_t len = strcspn(allowed, "|");
        if (!refused || strlen(refused) != len || strncmp(refused, allowed, len) != 0) {
            text_add(out, between);
            text_add_bytes(out, allowed, len);
            between = " ";
        }
        allowed += len + (allowed[len] == '|');
    }
}

/* "bash|zsh|fish" are words to choose from, "NAME" and "FILE|DIR" are not. */
static int
operands_are_words(const struct command *one)
{
    return one->operands[0] >= 'a' && one->operands[0] <= 'z';
}

static int
is_offered(const struct flag *flag)
{
    return !flag->refused || flag->type == FLAG_CHOICE; /* one value is refused, not the flag */
}

/* Calls each for every flag of a command. */
static void
each_flag(text *out, const struct command *one,
          void (*each)(text *out, const struct command *one, const struct flag *flag))
{
    const struct flag *tables[] = {one->flags, one->more, args_common_flags};
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct flag *flag = tables[i]; flag && flag->name; flag++)
            if (is_offered(flag))
                each(out, one, flag);
}

/* ---- bash, and zsh by its emulation of bash ---- */

static void
bash_flag(text *out, const struct command *one, const struct flag *flag)
{
    (void)one;
    text_addf(out, "--%s ", flag->name);
}

static void
bash_valued(text *out, const struct command *one, const struct flag *flag)
{
    (void)one;
    if (flag->type != FLAG_SWITCH)
        text_addf(out, "--%s ", flag->name);
}

static void
bash_choice(text *out, const struct command *one, const struct flag *flag)
{
    (void)one;
    if (flag->type != FLAG_CHOICE)
        return;
    text_addf(out, "        --%s) COMPREPLY=($(compgen -W \"", flag->name);
    add_choices(out, flag->allowed, flag->refused);
    text_add(out, "\" -- \"$cur\")); return ;;\n");
}

/* What may follow the words of one command: its flags, and which of them take a value. */
static void
bash_case(text *out, const struct command *one)
{
    text_addf(out, "        \"%s \"*)\n            words=\"", one->name);
    if (operands_are_words(one))
        add_choices(out, one->operands, NULL);
    text_add(out, "\"\n            flags=\"");
    each_flag(out, one, bash_flag);
    text_add(out, "\"\n            valued=\"");
    each_flag(out, one, bash_valued);
    text_add(out, "\" ;;\n");
}

static void
write_bash(text *out)
{
    text_add(out,
             "_swamp() {\n"
             "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
             "    local said=\"${COMP_WORDS[*]:1:COMP_CWORD-1} \" words=\"\" flags=\"\" valued=\"\" line\n"
             "    case \"$said\" in\n");
    for (const struct command *one = commands; one->name; one++)
        if (one->summary[0])
            bash_case(out, one);
    text_add(out, "        *)\n            [ \"$said\" = \" \" ] && said=\"\"\n            for line in");
    for (const struct command *one = commands; one->name; one++)
        if (one->summary[0])
            text_addf(out, " \"%s\"", one->name);
    text_add(out, "; do\n"
                  "                case \"$line\" in\n"
                  "                    \"$said\"*) line=${line#\"$said\"}; line=${line%% *} ;;\n"
                  "                    *) continue ;;\n"
                  "                esac\n"
                  "                case \" $words \" in *\" $line \"*) ;; *) words=\"$words $line\" ;; esac\n"
                  "            done ;;\n"
                  "    esac\n"
                  "    COMPREPLY=()\n"
                  "    case \"$prev\" in\n");
    for (const struct command *one = commands; one->name; one++)
        if (one->summary[0])
            each_flag(out, one, bash_choice);
    text_add(out, "    esac\n"
                  "    case \" $valued \" in *\" $prev \"*) return ;; esac # a file, perhaps\n"
                  "    case \"$cur\" in -*) words=$flags ;; esac\n"
                  "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                  "}\n"
                  "complete -o default -F _swamp swamp");
}

static void
write_zsh(text *out)
{
    text_add(out, "#compdef swamp\nautoload -U +X bashcompinit && bashcompinit\n");
    write_bash(out);
}

/* ---- fish ---- */

static void
add_fish_quoted(text *out, const char *words)
{
    text_add(out, "'");
    for (; *words; words++) {
        if (*words == '\'' || *words == '\\')
            text_add(out, "\\");
        text_add_bytes(out, words, 1);
    }
    text_add(out, "'");
}

static void
fish_flag(text *out, const struct command *one, const struct flag *flag)
{
    text_addf(out, "complete -c swamp -n '__swamp_said \"%s\"' -l %s", one->name, flag->name);
    if (flag->letter)
        text_addf(out, " -s %c", flag->letter);
    if (flag->type == FLAG_CHOICE) {
        text_add(out, " -x -a '");
        add_choices(out, flag->allowed, flag->refused);
        text_add(out, "'");
    } else if (flag->type != FLAG_SWITCH) {
        text_add(out, " -r -F");
    }
    text_add(out, " -d ");
    add_fish_quoted(out, flag->help);
    text_add(out, "\n");
}

/* One line for each word of the command's name, to be offered behind those before it. */
static void
fish_words(text *out, const struct command *one)
{
    const char *at = one->name;
    while (*at) {
        size_t before = (size_t)(at - one->name), len = strcspn(at, " ");
        text_addf(out, "complete -c swamp -f -n '__swamp_at \"%.*s\"' -a '%.*s'",
                  before ? (int)before - 1 : 0, one->name, (int)len, at);
        at += len + (at[len] == ' ');
        if (*at == '\0') {
            text_add(out, " -d ");
            add_fish_quoted(out, one->summary);
        }
        text_add(out, "\n");
    }
}

static void
write_fish(text *out)
{
    text_add(out, "function __swamp_at\n"
                  "    set -l said (commandline -opc)\n"
                  "    set -l words (string join -- ' ' $said[2..])\n"
                  "    test \"$words\" = \"$argv[1]\"\n"
                  "end\n"
                  "function __swamp_said\n"
                  "    set -l said (commandline -opc)\n"
                  "    string match -q -- \"$argv[1] *\" (string join -- ' ' $said[2..])' '\n"
                  "end\n");
    for (const struct command *one = commands; one->name; one++) {
        if (one->summary[0] == '\0')
            continue;
        fish_words(out, one);
        each_flag(out, one, fish_flag);
        if (operands_are_words(one)) {
            text_addf(out, "complete -c swamp -f -n '__swamp_at \"%s\"' -a '", one->name);
            add_choices(out, one->operands, NULL);
            text_add(out, "'\n");
        }
    }
}

int
cmd_completions(const struct args *args)
{
    static const struct {
        const char *shell;
        void (*write)(text *out);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    const char *shell = args_operand(args, 0);
    text out = {0};

    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].shell, shell) == 0) {
            shells[i].write(&out);
            out_bytes(out.bytes, out.len);
            text_free(&out);
            return 0;
        }
    }
    return out_fail(OUTCOME_USAGE, NULL, "\"%s\": allowed is bash, zsh or fish", shell);
}

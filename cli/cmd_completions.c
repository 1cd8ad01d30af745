/* `swamp completions`: commands and flags for bash, zsh and fish, made of the same tables as everything else. */
#include <string.h>
#include "cmd.h"
#include "out.h"
#include "outcome.h"

static void
add_flags(text *out, const struct flag *table, const char *before)
{
    for (; table && table->name; table++)
        text_addf(out, "%s--%s", before, table->name);
}

/* The words that may follow "swamp WORDS", one case a prefix: subcommands, then flags. */
static void
bash_case(text *out, const struct command *one)
{
    text_addf(out, "        \"%s\"*) words=\"--json --quiet --verbose --no-color --help", one->name);
    add_flags(out, one->flags, " ");
    add_flags(out, one->more, " ");
    text_add(out, "\" ;;\n");
}

static void
write_bash(text *out)
{
    text_add(out, "_swamp() {\n    local cur=${COMP_WORDS[COMP_CWORD]} said words\n"
                  "    said=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\"\n    case \"$said\" in\n");
    for (const struct command *one = commands; one->name; one++)
        bash_case(out, one);
    text_add(out, "        *) words=\"\"\n            for line in");
    for (const struct command *one = commands; one->name; one++)
        text_addf(out, " \"%s\"", one->name);
    text_add(out,
             "; do\n                case \"$line\" in\n"
             "                \"$said\"*) line=${line#\"$said\"}; line=${line# }; words=\"$words ${line%% "
             "*}\" ;;\n"
             "                esac\n            done ;;\n    esac\n"
             "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -o default -F _swamp swamp");
}

static void
write_zsh(text *out)
{
    text_add(out, "#compdef swamp\nautoload -U +X bashcompinit && bashcompinit\n");
    write_bash(out);
}

static void
write_fish(text *out)
{
    for (const struct command *one = commands; one->name; one++) {
        text_addf(out,
                  "complete -c swamp -f -n 'string match -q -- \"%s*\" (string join \" \" (commandline "
                  "-opc)[2..])'",
                  one->name);
        for (const struct flag *table = one->flags; table && table->name; table++)
            text_addf(out, " -l %s", table->name);
        text_add(out, "\n");
    }
    text_add(out, "complete -c swamp -f -n '__fish_is_first_arg' -a 'serve workflow run cluster access "
                  "doctor completions version'");
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

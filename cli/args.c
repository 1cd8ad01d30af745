/* Flags and operands of one command: read from the command line, variables and a config file, and checked. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "args.h"
#include "config.h"
#include "memory.h"
#include "value.h"

#define USAGE 2

/* What every command takes. */
const struct flag args_common_flags[] = {
    {.name = "json", .type = FLAG_SWITCH, .help = "machine output: one JSON value a line"},
    {.name = "quiet", .letter = 'q', .type = FLAG_SWITCH, .help = "less output"},
    {.name = "verbose", .letter = 'v', .type = FLAG_SWITCH, .help = "more output, on stderr"},
    {.name = "no-color", .type = FLAG_SWITCH, .help = "no colours (also: NO_COLOR)"},
    {.name = "help", .letter = 'h', .type = FLAG_SWITCH, .help = "this text"},
    {.name = NULL},
};

static void
add_flags(struct args *args, const struct flag *table)
{
    for (; table && table->name; table++) {
        assert(args->flag_count < ARGS_FLAGS_MAX);
        args->flags[args->flag_count++] = table;
    }
}

static size_t
find_flag(const struct args *args, const char *name, size_t len)
{
    for (size_t i = 0; i < args->flag_count; i++)
        if (strncmp(args->flags[i]->name, name, len) == 0 && args->flags[i]->name[len] == '\0')
            return i;
    return SIZE_MAX;
}

/* Levenshtein, for names of flags only. */
static size_t
distance(const char *one, const char *other)
{
    size_t row[64], len = strlen(other);
    if (len >= 64)
        return SIZE_MAX;
    for (size_t i = 0; i <= len; i++)
        row[i] = i;
    for (size_t i = 0; one[i]; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t k = 1; k <= len; k++) {
            size_t best = corner + (one[i] != other[k - 1]);
            corner = row[k];
            best = best < corner + 1 ? best : corner + 1;
            row[k] = best < row[k - 1] + 1 ? best : row[k - 1] + 1;
        }
    }
    return row[len];
}

static void
add_guess(const struct args *args, const char *name, text *error)
{
    size_t best = 3;
    const char *found = NULL;
    for (size_t i = 0; i < args->flag_count; i++) {
        size_t far = distance(name, args->flags[i]->name);
        if (far < best) {
            best = far;
            found = args->flags[i]->name;
        }
    }
    if (found)
        text_addf(error, "; did you mean --%s?", found);
    else
        text_addf(error, "; \"swamp %s -h\" lists what there is", args->command->name);
}

static int
set_value(struct args *args, size_t index, int from, const char *where, const char *value, text *error)
{
    const struct flag *flag = args->flags[index];
    arg_value *slot = &args->values[index];
    uint64_t number = 0;
    text allowed = {0};

    if (flag->refused && (strcmp(flag->refused, "*") == 0 || strcmp(flag->refused, value) == 0)) {
        text_addf(error, "%s is \"%s\": this version cannot do that yet; leave it out", where, value);
        return USAGE;
    }
    if (!value_check(flag, value, &number, &allowed)) {
        text_addf(error, "%s is \"%s\": allowed is %s", where, value, allowed.bytes);
        text_free(&allowed);
        return USAGE;
    }
    if (flag->type == FLAG_LIST) {
        args->repeats = memory_grow(args->repeats, args->repeat_count + 1, sizeof(*args->repeats));
        args->repeats[args->repeat_count].flag = flag;
        args->repeats[args->repeat_count++].text = memory_copy(value);
    } else if (from >= slot->from) {
        free(slot->text);
        slot->text = memory_copy(value);
        slot->number = number;
    }
    if (from > slot->from)
        slot->from = from;
    return 0;
}

/* "--name=value", "--name value", "-n": *at is moved over a value that is a word of its own. 0 or 2. */
static int
read_flag(struct args *args, int argc, char **argv, int *at, text *error)
{
    const char *word = argv[*at], *value = NULL;
    char where[80];
    size_t index = SIZE_MAX, len = 0;

    if (word[1] == '-') {
        len = strcspn(word + 2, "=");
        index = find_flag(args, word + 2, len);
        value = word[2 + len] == '=' ? word + 3 + len : NULL;
    } else if (word[2] == '\0') {
        for (size_t i = 0; i < args->flag_count; i++)
            if (args->flags[i]->letter == word[1])
                index = i;
    }
    if (index == SIZE_MAX) {
        char *name =
            memory_copy_part(word[1] == '-' ? word + 2 : word + 1, word[1] == '-' ? len : strlen(word + 1));
        text_addf(error, "unknown flag %.*s", (int)(word[1] == '-' ? len + 2 : strlen(word)), word);
        add_guess(args, name, error);
        free(name);
        return USAGE;
    }
    const struct flag *flag = args->flags[index];
    snprintf(where, sizeof(where), "--%s", flag->name);
    if (flag->type == FLAG_SWITCH)
        return set_value(args, index, ARGS_FROM_FLAG, where, value ? value : "true", error);
    if (!value) {
        if (*at + 1 >= argc) {
            text_addf(error, "%s needs a value: --%s %s", where, flag->name, flag->value);
            return USAGE;
        }
        value = argv[++*at];
    }
    return set_value(args, index, ARGS_FROM_FLAG, where, value, error);
}

static int
read_words(struct args *args, int argc, char **argv, text *error)
{
    int only_operands = 0;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = 1;
        } else if (!only_operands && word[0] == '-' && word[1] != '\0') {
            if (read_flag(args, argc, argv, &i, error) != 0)
                return USAGE;
        } else {
            args->operands = memory_grow(args->operands, args->operand_count + 1, sizeof(*args->operands));
            args->operands[args->operand_count++] = memory_copy(word);
        }
    }
    return 0;
}

/* Appends the name of the variable that the flag has in this command alone; nothing when it has none. */
static void
add_own_variable(const struct command *command, const struct flag *flag, text *out)
{
    int own = 0;
    for (const struct flag *one = command->flags; one && one->name; one++)
        own |= one == flag;
    if (!own || !command->variable_prefix || flag->type == FLAG_LIST)
        return;
    text_add(out, command->variable_prefix);
    for (const char *at = flag->name; *at; at++) {
        char upper = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
        text_add_bytes(out, &upper, 1);
    }
}

/* An empty variable counts as none: that is how compose files and unit files leave one out. */
static int
read_variable(struct args *args, size_t index, const char *name, char *(*lookup)(const char *name),
              text *error)
{
    const char *value = name && name[0] ? lookup(name) : NULL;
    text where = {0};
    if (!value || !value[0] || args->values[index].from >= ARGS_FROM_VARIABLE)
        return 0;
    text_addf(&where, "--%s (from the variable %s)", args->flags[index]->name, name);
    int rc = set_value(args, index, ARGS_FROM_VARIABLE, where.bytes, value, error);
    text_free(&where);
    return rc;
}

/* The command's own variable says more than the one that works everywhere, and is looked at first. */
static int
read_variables(struct args *args, char *(*lookup)(const char *name), text *error)
{
    int rc = 0;
    for (size_t i = 0; i < args->flag_count && rc == 0; i++) {
        text own = {0};
        add_own_variable(args->command, args->flags[i], &own);
        rc = read_variable(args, i, own.bytes, lookup, error);
        if (rc == 0)
            rc = read_variable(args, i, args->flags[i]->variable, lookup, error);
        text_free(&own);
    }
    return rc;
}

static int
set_defaults(struct args *args, text *error)
{
    for (size_t i = 0; i < args->flag_count; i++) {
        const struct flag *flag = args->flags[i];
        if (flag->fallback && args->values[i].from == ARGS_FROM_NOBODY &&
            set_value(args, i, ARGS_FROM_DEFAULT, flag->name, flag->fallback, error) != 0)
            return USAGE;
    }
    return 0;
}

/* From the config file. */
static int
take_setting(void *user, const char *where, const char *name, const char *value, text *error)
{
    struct args *args = user;
    size_t index = find_flag(args, name, strlen(name));
    if (index == SIZE_MAX || args->flags[index]->type == FLAG_LIST) {
        text_addf(error, "%s is no setting of swamp %s", where, args->command->name);
        add_guess(args, name, error);
        return USAGE;
    }
    return value ? set_value(args, index, ARGS_FROM_CONFIG, where, value, error) : 0;
}

static int
check_operands(const struct args *args, text *error)
{
    const struct command *command = args->command;
    if (args->operand_count > command->most) {
        text_addf(error, "\"%s\" is one word too many: swamp %s%s%s [flags]", args->operands[command->most],
                  command->name, command->operands[0] ? " " : "", command->operands);
        return USAGE;
    }
    if (args->operand_count < command->least) {
        text_addf(error, "%s is missing: swamp %s %s [flags]", command->operands, command->name,
                  command->operands);
        return USAGE;
    }
    return 0;
}

int
args_read(struct args *out, const struct command *command, int argc, char **argv,
          char *(*lookup)(const char *name), text *error)
{
    memset(out, 0, sizeof(*out));
    out->command = command;
    add_flags(out, command->flags);
    add_flags(out, command->more);
    add_flags(out, args_common_flags);
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        out->help |= strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0;
    if (out->help)
        return 0;
    int rc = read_words(out, argc, argv, error);
    if (rc == 0)
        rc = read_variables(out, lookup, error);
    if (rc == 0 && find_flag(out, "config", 6) != SIZE_MAX && args_text(out, "config"))
        rc = config_read(args_text(out, "config"), take_setting, out, error);
    if (rc == 0)
        rc = set_defaults(out, error);
    return rc == 0 ? check_operands(out, error) : rc;
}

void
args_free(struct args *args)
{
    for (size_t i = 0; i < args->flag_count; i++)
        free(args->values[i].text);
    for (size_t i = 0; i < args->operand_count; i++)
        free(args->operands[i]);
    for (size_t i = 0; i < args->repeat_count; i++)
        free(args->repeats[i].text);
    free(args->operands);
    free(args->repeats);
    memset(args, 0, sizeof(*args));
}

static const arg_value *
value_of(const struct args *args, const char *name)
{
    size_t index = find_flag(args, name, strlen(name));
    assert(index != SIZE_MAX);
    return &args->values[index];
}

const char *
args_text(const struct args *args, const char *name)
{
    return value_of(args, name)->text;
}

uint64_t
args_number(const struct args *args, const char *name)
{
    return value_of(args, name)->number;
}

int
args_from(const struct args *args, const char *name)
{
    return value_of(args, name)->from;
}

int
args_given(const struct args *args, const char *name)
{
    return args_from(args, name) > ARGS_FROM_DEFAULT;
}

const char *
args_operand(const struct args *args, size_t index)
{
    return index < args->operand_count ? args->operands[index] : NULL;
}

static void
help_table(const struct command *command, const struct flag *table, text *out)
{
    for (; table && table->name; table++) {
        text left = {0}, variable = {0};
        if (table->refused && strcmp(table->refused, "*") == 0)
            continue;
        if (table->letter)
            text_addf(&left, "-%c, ", table->letter);
        text_addf(&left, "--%s%s%s", table->name, table->value ? " " : "", table->value ? table->value : "");
        text_addf(out, "  %-36s %s", left.bytes, table->help);
        if (table->fallback)
            text_addf(out, " (%s)", table->fallback);
        add_own_variable(command, table, &variable);
        if (table->variable)
            text_addf(&variable, "%s%s", variable.len ? ", " : "", table->variable);
        if (variable.len)
            text_addf(out, " [%s]", variable.bytes);
        text_add(out, "\n");
        text_free(&left);
        text_free(&variable);
    }
}

void
args_help(const struct command *command, text *out)
{
    text_addf(out, "swamp %s%s%s [flags]\n\n%s\n\n", command->name, command->operands[0] ? " " : "",
              command->operands, command->summary);
    help_table(command, command->flags, out);
    help_table(command, command->more, out);
    help_table(command, args_common_flags, out);
}

/* Values that a person gives in a file or on stdin: YAML or JSON, told apart by trying JSON first. */
#ifndef SWAMP_CLI_SOURCE_H
#define SWAMP_CLI_SOURCE_H

#include "json.h"

#define SOURCE_MAX (1024 * 1024) /* bytes */

/* "-" is stdin. NULL: error is one line, "FILE: why" or "FILE:LINE: why". */
json *source_read(const char *file, text *error);

#endif

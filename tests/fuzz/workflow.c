/* Fuzzes workflow files, as YAML and as JSON: a model, or at least one mistake in words. */
#include "../../cli/workflow/load.h"
#include "fuzz.h"

static void
load(const char *file, const uint8_t *data, size_t size)
{
    workflow_faults faults = {0};
    workflow *flow = workflow_load_text(file, (const char *)data, size, &faults);
    MUST((flow == NULL) == (faults.count > 0));
    if (flow) {
        MUST(flow->job_count > 0 && flow->name != NULL);
        workflow_unref(flow);
    }
    workflow_faults_free(&faults);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load("flow.yaml", data, size);
    load("flow.json", data, size);
    return 0;
}

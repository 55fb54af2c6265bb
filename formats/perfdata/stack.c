/* SPDX-License-Identifier: MIT */
/* perf.data: copied user stacks (--call-graph dwarf), for whoever can unwind them. */
#include "formats/perfdata/session_priv.h"

/* What the unwinder's questions are about. */
struct context {
    const struct td_perf_session *session;
    uint32_t pid;
};

static bool find(const struct td_load_stack *stack, uint64_t address, struct td_load_place *place)
{
    const struct context *const context = stack->find_ctx;

    return td_perf_find(context->session, context->pid, address, place);
}

size_t td_perf_unwind(struct td_perf_session *session, const struct td_rec *rec, uint64_t *frames,
                      size_t max)
{
    const struct td_rec_sample *const sample = &rec->u.sample;
    const struct td_load_unwinder *const unwinder = session->opts->unwinder;
    const struct context context = {.session = session, .pid = rec->pid};
    struct td_load_stack stack = {
        .machine = td_model_env(session->model, TD_ENV_MACHINE),
        .model = session->model,
        .started_ns = session->first_ns,
        .regs = sample->regs,
        .regs_mask = rec->layout->user_regs,
        .bytes = sample->stack,
        .size = (size_t)sample->stack_size,
        .find = find,
        .find_ctx = &context,
    };
    bool cut = false;

    if (!unwinder || session->big || !sample->regs || sample->regs_abi != PERF_SAMPLE_REGS_ABI_64) {
        session->raw_stacks++;
        return 0;
    }
    stack.space = td_perf_space(session, rec->pid);
    const size_t count = unwinder->unwind(unwinder->ctx, &stack, frames, max, &cut);
    session->raw_stacks += count == 0;
    session->counters[TD_COUNTER_TRUNCATED_STACKS] += count > 0 && cut;
    return count;
}

/* SPDX-License-Identifier: MIT */
#include "report/query/figures/row_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* Hashes of what things are; two of 64 bits that are equal by chance do no harm. */
static uint64_t hash_string(const struct td_model *model, uint32_t string)
{
    const char *text = td_model_string(model, string);

    return td_hash_bytes(text, strlen(text));
}

static uint64_t *hash_modules(const struct td_model *model)
{
    const uint32_t count = td_model_module_count(model);
    uint64_t *hashes = td_xcalloc((size_t)count + 1, sizeof(*hashes));

    for (uint32_t i = 0; i < count; i++) {
        const struct td_module *module = td_model_module(model, i);
        const struct td_build_id *id = &module->build_id;

        hashes[i] =
            td_hash_mix(hash_string(model, module->path), td_hash_bytes(id->bytes, id->size));
    }
    return hashes;
}

/* A node stands for its whole stack; callers have lower numbers than what they call. */
static uint64_t *hash_nodes(const struct td_model *model)
{
    const uint32_t count = td_model_node_count(model);
    uint64_t *hashes = td_xcalloc((size_t)count + 1, sizeof(*hashes));
    uint64_t *modules = hash_modules(model);

    for (uint32_t i = 1; i < count; i++) {
        const struct td_node *node = td_model_node(model, i);
        uint64_t place = 0;

        if (node->location != TD_NONE) {
            const struct td_location *at = td_model_location(model, node->location);
            place = td_hash_mix(at->module == TD_NONE ? 0 : modules[at->module], at->offset);
        }
        hashes[i] = td_hash_mix(hashes[node->parent], place);
    }
    free(modules);
    return hashes;
}

static uint64_t *hash_threads(const struct td_model *model)
{
    const uint32_t count = td_model_thread_count(model);
    uint64_t *hashes = td_xcalloc((size_t)count + 1, sizeof(*hashes));

    for (uint32_t i = 0; i < count; i++) {
        const struct td_thread *thread = td_model_thread(model, i);

        hashes[i] =
            td_hash_mix(hash_string(model, thread->process), hash_string(model, thread->name));
    }
    return hashes;
}

struct ordered {
    uint64_t hash, value;
    size_t row;
};

static int compare_ordered(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->value > y->value) - (x->value < y->value);
}

size_t *td_row_order(const struct td_measure *measure)
{
    const uint64_t *values = measure->values[td_measure_primary(measure)];
    uint64_t *nodes = hash_nodes(measure->model), *threads = hash_threads(measure->model);
    struct ordered *rows = td_xcalloc(measure->row_count + 1, sizeof(*rows));
    size_t *order = td_xcalloc(measure->row_count + 1, sizeof(*order));

    for (size_t i = 0; i < measure->row_count; i++) {
        const struct td_measure_row *row = &measure->rows[i];

        rows[i] = (struct ordered){.hash = td_hash_mix(threads[row->thread], nodes[row->node]),
                                   .value = values ? values[i] : 0,
                                   .row = i};
    }
    qsort(rows, measure->row_count, sizeof(*rows), compare_ordered);
    for (size_t i = 0; i < measure->row_count; i++)
        order[i] = rows[i].row;
    free(rows);
    free(nodes);
    free(threads);
    return order;
}

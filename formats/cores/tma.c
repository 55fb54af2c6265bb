/* SPDX-License-Identifier: MIT */
#include "formats/cores/tma.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const struct td_tma_info infos[TD_NODE_COUNT] = {
#define X(symbol, node_id, node_parent, node_level, node_name, node_meaning) \
    [TD_NODE_##symbol] = {.id = (node_id),                                   \
                          .name = (node_name),                               \
                          .meaning = (node_meaning),                         \
                          .parent = TD_NODE_##node_parent,                   \
                          .level = (node_level)},
    TD_TMA_NODES(X)
#undef X
};

const struct td_tma_info *td_tma_info(enum td_tma_node node)
{
    assert(node >= 0 && node < TD_NODE_COUNT);
    return &infos[node];
}

const char *const *td_tma_ids(void)
{
    static const char *const ids[TD_NODE_COUNT + 1] = {
#define X(symbol, id, parent, level, name, meaning) id,
        TD_TMA_NODES(X)
#undef X
    };

    return ids;
}

enum td_tma_node td_tma_by_id(const char *id)
{
    for (int i = 0; i < TD_NODE_COUNT; i++) {
        if (strcmp(infos[i].id, id) == 0)
            return (enum td_tma_node)i;
    }
    return TD_NODE_NONE;
}

bool td_tma_retires(enum td_tma_node node)
{
    while (infos[node].parent != TD_NODE_NONE)
        node = infos[node].parent;
    return node == TD_NODE_RETIRING;
}

bool td_tma_is_work(enum td_tma_node node)
{
    for (; node != TD_NODE_NONE; node = infos[node].parent) {
        if (node == TD_NODE_HEAVY_OPERATIONS)
            return false;
        if (node == TD_NODE_RETIRING)
            return true;
    }
    return false;
}

/* The tree that every core and the model have comes first in the list; finer nodes behind it. */
static bool is_common(int node)
{
    return node <= TD_NODE_SMT_CONTENTION;
}

bool td_tma_is_modelled(enum td_tma_node node)
{
    /* Of the finer nodes those that record/sim/model/causes.h has, and what they are parts of. */
    static const bool finer[TD_NODE_COUNT] = {
        [TD_NODE_MS_SWITCHES] = true,
        [TD_NODE_MITE] = true,
        [TD_NODE_DSB] = true,
        [TD_NODE_SERIALIZING_OPERATION] = true,
        [TD_NODE_FP_ARITH] = true,
        [TD_NODE_INT_OPERATIONS] = true,
        [TD_NODE_MEMORY_OPERATIONS] = true,
        [TD_NODE_FUSED_INSTRUCTIONS] = true,
        [TD_NODE_NON_FUSED_BRANCHES] = true,
        [TD_NODE_NOP_INSTRUCTIONS] = true,
        [TD_NODE_OTHER_LIGHT_OPS] = true,
        [TD_NODE_FEW_UOPS_INSTRUCTIONS] = true,
        [TD_NODE_MICROCODE_SEQUENCER] = true,
        [TD_NODE_DTLB_LOAD] = true,
        [TD_NODE_STORE_FWD_BLK] = true,
        [TD_NODE_CONTESTED_ACCESSES] = true,
        [TD_NODE_FALSE_SHARING] = true,
        [TD_NODE_L1_LATENCY_DEPENDENCY] = true,
        [TD_NODE_LOCK_LATENCY] = true,
        [TD_NODE_SPLIT_LOADS] = true,
        [TD_NODE_ALIASING_4K] = true,
        [TD_NODE_MEM_BANDWIDTH] = true,
        [TD_NODE_MEM_LATENCY] = true,
        [TD_NODE_X87_USE] = true,
        [TD_NODE_FP_SCALAR] = true,
        [TD_NODE_FP_VECTOR] = true,
        [TD_NODE_FP_VECTOR_128B] = true,
        [TD_NODE_FP_VECTOR_256B] = true,
        [TD_NODE_FP_VECTOR_512B] = true,
        [TD_NODE_DEPENDENCY_CHAINS] = true,
        [TD_NODE_INTEGER_PORTS] = true,
        [TD_NODE_MULTIPLY_PORT] = true,
        [TD_NODE_BRANCH_PORTS] = true,
        [TD_NODE_FLOAT_PORTS] = true,
        [TD_NODE_SHUFFLE_PORTS] = true,
        [TD_NODE_VECTOR_PORTS] = true,
        [TD_NODE_LOAD_PORTS] = true,
        [TD_NODE_STORE_PORTS] = true,
    };

    return node < TD_NODE_SMT_CONTENTION || (node < TD_NODE_COUNT && finer[node]);
}

/* Letters in lower case, what separates words as '_'. */
static void plain(char *dst, size_t size, const char *src)
{
    size_t len = 0;

    for (; src[len] && len + 1 < size; len++)
        dst[len] =
            src[len] == '-' || src[len] == ' ' ? '_' : (char)tolower((unsigned char)src[len]);
    dst[len] = '\0';
}

enum closeness { SAME, BEGINS, HAS, CLOSENESS_COUNT };

static bool is_close(const char *name, const char *word, enum closeness closeness)
{
    switch (closeness) {
    case SAME: return strcmp(name, word) == 0;
    case BEGINS: return strncmp(name, word, strlen(word)) == 0;
    case HAS:
    case CLOSENESS_COUNT: break;
    }
    return strstr(name, word) != NULL;
}

size_t td_tma_matches(const char *word, enum td_tma_node ret[TD_NODE_COUNT])
{
    char wanted[32], name[32];
    size_t len = 0;

    if (!*word || strlen(word) >= sizeof(wanted))
        return 0;
    plain(wanted, sizeof(wanted), word);
    for (int c = 0; c < CLOSENESS_COUNT && len == 0; c++) {
        for (int i = 0; i < TD_NODE_COUNT && (is_common(i) || len == 0 || !is_common((int)ret[0]));
             i++) {
            plain(name, sizeof(name), infos[i].name);
            if (is_close(infos[i].id, wanted, (enum closeness)c) ||
                is_close(name, wanted, (enum closeness)c))
                ret[len++] = (enum td_tma_node)i;
        }
    }
    return len;
}

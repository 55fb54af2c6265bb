/* SPDX-License-Identifier: MIT */
#include "formats/cores/variant.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"

/* A cycle's word counts what issues in it up to 255 (record/sim/model/ports.h). */
enum { SCHEDULER_MAX = 240 };

static const struct td_variant_info infos[TD_VARIANT_COUNT] = {
#define X(symbol, word_, meaning_, phrase_) \
    [TD_VARIANT_##symbol] = {.word = (word_), .meaning = (meaning_), .phrase = (phrase_)},
    TD_VARIANTS(X)
#undef X
};

struct td_variant_info td_variant_info(enum td_variant variant)
{
    return infos[variant];
}

static enum td_variant find_word(const char *word)
{
    int v = 0;

    while (v < TD_VARIANT_COUNT && strcmp(infos[v].word, word) != 0)
        v++;
    return (enum td_variant)v;
}

/* A class that the instruction set does not have costs nothing, and stays so. */
static void cheapen_divisions(struct td_core_desc *desc)
{
    static const enum td_op_class floats[] = {TD_OP_FDIV32, TD_OP_FDIV64, TD_OP_FSQRT32,
                                              TD_OP_FSQRT64};

    desc->ops[TD_OP_DIV32] = desc->ops[TD_OP_DIV64] = desc->ops[TD_OP_ALU];
    for (size_t i = 0; i < sizeof(floats) / sizeof(floats[0]); i++)
        desc->ops[floats[i]] = desc->ops[TD_OP_FADD];
    desc->ops[TD_OP_X87_DIV] = desc->ops[TD_OP_X87_ADD];
}

static void speed_l3(struct td_core_desc *desc)
{
    if (desc->l3_latency > desc->l2_latency)
        desc->l3_latency = desc->l2_latency;
    if (desc->l3_line > desc->l2_line)
        desc->l3_line = desc->l2_line;
}

static void change(struct td_core_desc *desc, enum td_variant variant)
{
    switch (variant) {
    case TD_VARIANT_BRANCHES: desc->perfect |= TD_PERFECT_BRANCHES; break;
    case TD_VARIANT_L1: desc->perfect |= TD_PERFECT_L1; break;
    case TD_VARIANT_L2: desc->perfect |= TD_PERFECT_L2; break;
    case TD_VARIANT_L3: speed_l3(desc); break;
    case TD_VARIANT_DRAM: desc->perfect |= TD_PERFECT_L3; break;
    case TD_VARIANT_TLB: desc->perfect |= TD_PERFECT_TLB; break;
    case TD_VARIANT_ICACHE: desc->perfect |= TD_PERFECT_ICACHE; break;
    case TD_VARIANT_DIVIDER: cheapen_divisions(desc); break;
    case TD_VARIANT_PORTS: desc->perfect |= TD_PERFECT_PORTS; break;
    case TD_VARIANT_FRONTEND: desc->perfect |= TD_PERFECT_FRONTEND; break;
    case TD_VARIANT_COUNT: break;
    }
}

static int fail_unknown(const char *word, struct td_err *err)
{
    const char *names[TD_VARIANT_COUNT + 1] = {NULL};
    char list[256] = "";
    size_t len = 0;

    for (int v = 0; v < TD_VARIANT_COUNT; v++) {
        names[v] = infos[v].word;
        const int n = snprintf(list + len, sizeof(list) - len, "%s%s", v ? ", " : "", names[v]);
        len += n > 0 && (size_t)n < sizeof(list) - len ? (size_t)n : 0;
    }
    const char *near = td_nearest(word, names);
    return td_fail(err, TD_EUSAGE,
                   "'%s' is nothing that can be changed in a core%s%s%s; there is %s, and a "
                   "number of its description, as width=8",
                   word, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "", list);
}

static int apply_word(struct td_core_desc *desc, char *word, struct td_err *err)
{
    char *value = strchr(word, '=');
    const enum td_variant variant = find_word(word);

    if (value) {
        *value = '\0';
        return td_core_desc_set(desc, word, value + 1, err);
    }
    if (variant == TD_VARIANT_COUNT)
        return fail_unknown(word, err);
    change(desc, variant);
    return TD_OK;
}

int td_variant_apply(struct td_core_desc *desc, const char *words, struct td_err *err)
{
    struct td_core_desc changed = *desc;
    char text[TD_VARIANT_WORDS_MAX], *rest = text;
    const size_t len = strlen(desc->name);
    int rc = TD_OK;

    const int n = snprintf(text, sizeof(text), "%s", words);
    const int room = snprintf(changed.name + len, sizeof(changed.name) - len, "+%s", words);
    if (n < 0 || (size_t)n >= sizeof(text) || (size_t)room >= sizeof(changed.name) - len)
        return td_fail(err, TD_EUSAGE, "'%s': at most %d letters say what is changed in a core",
                       words, TD_VARIANT_WORDS_MAX - 1);
    for (char *word; rc == TD_OK && (word = strsep(&rest, "+"));)
        rc = apply_word(&changed, word, err);
    if (rc == TD_OK && changed.perfect & TD_PERFECT_PORTS &&
        changed.scheduler + changed.scheduler_memory + changed.scheduler_vector +
                changed.vector_queue >
            SCHEDULER_MAX)
        rc = td_fail(err, TD_EUSAGE, "%s: with ports, a scheduler has at most %d places", words,
                     SCHEDULER_MAX);
    if (rc == TD_OK)
        *desc = changed;
    return rc;
}

unsigned td_variant_width(const char *words, unsigned width)
{
    static const char key[] = "width=";

    for (; *words; words += strcspn(words, "+"), words += *words == '+') {
        if (strncmp(words, key, sizeof(key) - 1) == 0)
            width = (unsigned)strtoul(words + sizeof(key) - 1, NULL, 10);
    }
    return width;
}

/* Appends as much as there is room for. */
static void append(char *buf, size_t size, const char *text)
{
    const size_t len = strlen(buf);

    snprintf(buf + len, size - len, "%s", text);
}

static void append_word(char *buf, size_t size, char *word)
{
    const enum td_variant variant = find_word(word);
    char *value = strchr(word, '=');

    if (variant < TD_VARIANT_COUNT) {
        append(buf, size, infos[variant].phrase);
        return;
    }
    if (value)
        *value = ' ';
    append(buf, size, word);
}

const char *td_variant_phrase(char *buf, size_t size, const char *words)
{
    char text[TD_VARIANT_WORDS_MAX], *rest = text;
    bool first = true;

    buf[0] = '\0';
    snprintf(text, sizeof(text), "%s", words);
    for (char *word; (word = strsep(&rest, "+")); first = false) {
        append(buf, size, first ? "" : rest ? ", " : " and ");
        append_word(buf, size, word);
    }
    return buf;
}

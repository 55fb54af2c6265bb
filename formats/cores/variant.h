/* SPDX-License-Identifier: MIT */
/*
 * A core with something in it made perfect or changed: what a program would gain from it is the
 * difference of two models. Written NAME+WORD[+WORD...], as golden-cove+branches+width=8; a WORD
 * is one of the table below, or KEY=VALUE of a number of the description (core.h).
 */
#ifndef TD_FORMATS_CORES_VARIANT_H
#define TD_FORMATS_CORES_VARIANT_H

#include <stddef.h>

#include "base/err.h"
#include "formats/cores/core.h"

/* X(symbol, word, meaning, phrase): the phrase goes on a sentence that begins "with". Which of them
 * the model has to know is said by enum td_core_perfect; the others only change numbers. */
#define TD_VARIANTS(X)                                                                             \
    X(BRANCHES, "branches", "every branch and its target is predicted", "perfect branches")        \
    X(L1, "l1", "every access to data finds it in L1", "all data in L1")                           \
    X(L2, "l2", "every miss of L1, data and code, finds its line in L2", "every miss of L1 in L2") \
    X(L3, "l3", "L3 answers as fast as L2", "L3 as fast as L2")                                    \
    X(DRAM, "dram", "every miss of L2 finds its line in L3", "memory as fast as L3")               \
    X(TLB, "tlb", "every page is in the first TLB", "every page in the TLB")                       \
    X(ICACHE, "icache", "all code is in the instruction cache",                                    \
      "all code in the instruction cache")                                                         \
    X(DIVIDER, "divider", "a division costs what an addition costs",                               \
      "divisions as cheap as additions")                                                           \
    X(PORTS, "ports", "every operation finds a port", "a port for every operation")                \
    X(FRONTEND, "frontend", "fetch, uop cache and decoders are never late",                        \
      "a front end without delays")

enum td_variant {
#define X(symbol, word, meaning, phrase) TD_VARIANT_##symbol,
    TD_VARIANTS(X)
#undef X
        TD_VARIANT_COUNT
};

struct td_variant_info {
    const char *word, *meaning, *phrase;
};
struct td_variant_info td_variant_info(enum td_variant variant);

#define TD_VARIANTS_MAX      16 /* beside one core, in one run */
#define TD_VARIANT_WORDS_MAX 64 /* bytes of "WORD+WORD...", with the end */

/* Changes *desc by `words`, "WORD[+WORD...]", and puts them behind its name. TD_EUSAGE with a
 * sentence that names the word and those there are; *desc is then as before. */
int td_variant_apply(struct td_core_desc *desc, const char *words, struct td_err *err);

/* The width of a core of `width` slots per cycle that the words change. */
unsigned td_variant_width(const char *words, unsigned width);

/* What the words mean, to go on after "with ": "perfect branches and width 8". The buffer is
 * returned. Words that are not known stand as they are. */
const char *td_variant_phrase(char *buf, size_t size, const char *words);

#endif

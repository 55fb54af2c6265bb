/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/regions.h"

#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/mem.h"
#include "record/sim/model/sim.h"
#include "record/sim/qemu/guest_memory.h"
#include "region/tdprof/region_marks.h"

enum {
    NAMES_MAX = 65536, /* told apart */
    PAGE_BYTES = 4096, /* the least: what is read ends with one */
};

static const char NO_NAME[] = "(no name)";

struct td_region_names {
    struct td_intern *texts; /* text 0 stands for TD_SIM_REGION_OTHERS */
    struct td_map numbers;   /* hash and length of a name to its number */
};

static uint32_t word_at(const uint8_t *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* testb $TDPROF_MARK_BYTE, MARK(%rdi) */
static uint32_t mark_of_x86(const uint8_t *insn, size_t size)
{
    return size == 7 && insn[0] == 0xf6 && insn[1] == 0x87 && insn[6] == TDPROF_MARK_BYTE
               ? word_at(insn + 2)
               : 0;
}

/* ldrb wzr, [x0, #MARK] */
static uint32_t mark_of_a64(const uint8_t *insn, size_t size)
{
    const uint32_t word = size == 4 ? word_at(insn) : 0;

    return (word & 0xffc003ff) == 0x3940001f ? word >> 10 & 0xfff : 0;
}

enum td_region_mark td_region_mark(const char *isa, const uint8_t *insn, size_t size)
{
    const bool x86 = strcmp(isa, "x86_64") == 0;
    const uint32_t mark = x86 ? mark_of_x86(insn, size) : mark_of_a64(insn, size);
    const uint32_t begin = x86 ? TDPROF_MARK_BEGIN_X86 : TDPROF_MARK_BEGIN_A64;
    const uint32_t end = x86 ? TDPROF_MARK_END_X86 : TDPROF_MARK_END_A64;

    if (mark == begin)
        return TD_REGION_MARK_BEGIN;
    return mark == end ? TD_REGION_MARK_END : TD_REGION_MARK_NONE;
}

struct td_region_names *td_region_names_new(void)
{
    struct td_region_names *names = td_xcalloc(1, sizeof(*names));

    names->texts = td_intern_new();
    return names;
}

/* The text at the address, cut at TDPROF_NAME_MAX bytes; what it reads does not go beyond its last
 * page, behind which there may be none. */
static size_t read_name(char text[TDPROF_NAME_MAX], uint64_t address)
{
    size_t len = 0;

    while (len < TDPROF_NAME_MAX) {
        const size_t page = PAGE_BYTES - (size_t)((address + len) % PAGE_BYTES);
        const size_t size = page < TDPROF_NAME_MAX - len ? page : TDPROF_NAME_MAX - len;

        if (!td_guest_read(text + len, address + len, size))
            return len;
        const char *end = memchr(text + len, '\0', size);
        if (end)
            return (size_t)(end - text);
        len += size;
    }
    return len;
}

uint32_t td_region_names_put(struct td_region_names *names, uint64_t address)
{
    char text[TDPROF_NAME_MAX];
    const size_t len = read_name(text, address);
    const uint64_t hash = td_hash_bytes(text, len);
    const uint32_t *known = td_map_find(&names->numbers, hash, len);

    if (known)
        return *known;
    if (names->numbers.len >= NAMES_MAX)
        return TD_SIM_REGION_OTHERS;
    const uint32_t number = len > 0 ? td_intern_put(names->texts, text, len)
                                    : td_intern_put(names->texts, NO_NAME, sizeof(NO_NAME) - 1);
    return *td_map_put(&names->numbers, hash, len, number, NULL);
}

bool td_region_names_any(const struct td_region_names *names)
{
    return names->numbers.len > 0;
}

const char *td_region_names_text(const struct td_region_names *names, uint32_t number)
{
    return names && number != TD_SIM_REGION_OTHERS ? td_intern_get(names->texts, number)
                                                   : TD_REGION_OTHERS;
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"

/* For hand-written code: symbols of no size. Each stands at the first query behind it. */
struct near {
    struct td_elf_symbol symbol; /* the nearest of no size */
    uint64_t end;                /* the highest end of one that has a size */
};

struct lookup {
    struct td_elf *elf;
    struct td_symbol_query *queries;
    size_t count;
    struct near *near; /* by query */
};

static size_t lower(const struct lookup *l, uint64_t address)
{
    size_t low = 0;

    TD_SEARCH(low, l->count, i, l->queries[i].address < address)
    return low;
}

/* Of several names for a place: functions before labels, global before local (a library's own
 * names), names without the implementation's leading underscores before those with. */
static int rank_of(const struct td_elf_symbol *s)
{
    int rank = 0;

    if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
        rank += 8;
    if (s->binding == STB_GLOBAL)
        rank += 4;
    else if (s->binding == STB_WEAK)
        rank += 3;
    if (s->name[0] != '_' || s->name[1] == 'Z' || s->name[1] == 'R')
        rank += 2;
    if (strchr(s->name, '@')) /* of an old version of the library */
        rank -= 2;
    return rank;
}

static bool better(const struct td_symbol_query *q, const struct td_elf_symbol *s, int rank)
{
    if (!q->name)
        return true;
    if (s->value != q->value)
        return s->value > q->value; /* the inner of two nested ones */
    if (rank != q->rank)
        return rank > q->rank;
    const size_t len = strlen(s->name), other = strlen(q->name);
    return len != other ? len < other : strcmp(s->name, q->name) < 0;
}

static void take_label(struct td_elf_symbol *nearest, const struct td_elf_symbol *s)
{
    if (!nearest->name || s->value > nearest->value ||
        (s->value == nearest->value && rank_of(s) > rank_of(nearest)))
        *nearest = *s;
}

static void take(void *ctx, const struct td_elf_symbol *s)
{
    struct lookup *l = ctx;

    if (s->type != STT_FUNC && s->type != STT_GNU_IFUNC && s->type != STT_NOTYPE)
        return;
    size_t i = lower(l, s->value);
    if (i == l->count)
        return;
    if (s->size == 0) {
        take_label(&l->near[i].symbol, s);
        return;
    }
    const int rank = rank_of(s);
    for (; i < l->count && l->queries[i].address - s->value < s->size; i++) {
        struct td_symbol_query *q = &l->queries[i];

        if (!better(q, s, rank))
            continue;
        q->name = s->name;
        q->value = s->value;
        q->size = s->size;
        q->rank = rank;
    }
    if (i < l->count && s->value + s->size > l->near[i].end)
        l->near[i].end = s->value + s->size;
}

/* The section with instructions that holds the address, or NULL. */
static const struct td_elf_section *code_section(const struct td_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < td_elf_section_count(elf); i++) {
        const struct td_elf_section *s = td_elf_section_at(elf, i);

        if ((s->flags & SHF_EXECINSTR) && address >= s->addr && address - s->addr < s->size)
            return s;
    }
    return NULL;
}

/* A symbol without a size reaches to the next symbol, and not out of its section. */
static void use_nearest(struct lookup *l)
{
    struct td_elf_symbol last = {0};
    uint64_t end = 0;

    for (size_t i = 0; i < l->count; i++) {
        struct td_symbol_query *q = &l->queries[i];

        if (l->near[i].symbol.name)
            last = l->near[i].symbol;
        if (l->near[i].end > end)
            end = l->near[i].end;
        if (q->name || !last.name || last.value < end)
            continue;
        const struct td_elf_section *s = code_section(l->elf, q->address);
        if (!s || last.value < s->addr)
            continue;
        q->name = last.name;
        q->value = last.value;
        q->rank = -1; /* any table that knows better may replace it */
    }
}

void td_symbols_lookup(struct td_elf *elf, const char *table, struct td_symbol_query *queries,
                       size_t count)
{
    struct lookup l = {.elf = elf, .queries = queries, .count = count};

    l.near = td_xcalloc(count, sizeof(*l.near));
    td_elf_symbols(elf, td_elf_section(elf, table), take, &l);
    use_nearest(&l);
    free(l.near);
}

/* Slots of the global offset table -> index of the dynamic symbol that fills them. */
static void read_slots(struct td_elf *elf, struct td_map *slots)
{
    for (size_t i = 0; i < td_elf_section_count(elf); i++) {
        const struct td_elf_section *s = td_elf_section_at(elf, i);
        struct td_bytes bytes = {0};

        if (s->type != SHT_RELA || strncmp(s->name, ".rela.", 6) != 0 ||
            td_elf_section_bytes(elf, s, &bytes, NULL) != TD_OK)
            continue;
        struct td_cur cur = td_cur_init(bytes);
        while (td_cur_left(&cur) >= sizeof(Elf64_Rela)) {
            const uint64_t offset = td_cur_u64(&cur);
            const uint64_t info = td_cur_u64(&cur);

            (void)td_cur_u64(&cur);
            if (ELF64_R_TYPE(info) == R_X86_64_JUMP_SLOT || ELF64_R_TYPE(info) == R_X86_64_GLOB_DAT)
                td_map_put(slots, offset, 0, (uint32_t)ELF64_R_SYM(info), NULL);
        }
    }
}

static const char *dynamic_name(struct td_elf *elf, uint32_t index)
{
    const struct td_elf_section *table = td_elf_section(elf, ".dynsym");
    struct td_bytes symbols = {0}, strings = {0};

    if (!table || table->link >= td_elf_section_count(elf) ||
        td_elf_section_bytes(elf, table, &symbols, NULL) != TD_OK ||
        td_elf_section_bytes(elf, td_elf_section_at(elf, table->link), &strings, NULL) != TD_OK)
        return NULL;
    struct td_cur cur = td_cur_at(symbols, (uint64_t)index * sizeof(Elf64_Sym));
    const uint32_t name = td_cur_u32(&cur);
    return cur.bad || name == 0 ? NULL : td_bytes_string(strings, name);
}

/* The slot an entry jumps through: "jmp *disp(%rip)" is ff 25 and 32 bits, counted from its end. */
static bool entry_slot(struct td_bytes code, uint64_t entry, uint64_t address, uint64_t *slot)
{
    for (uint64_t i = entry; i + 6 <= code.size && i < entry + 16; i++) {
        if (code.data[i] != 0xff || code.data[i + 1] != 0x25)
            continue;
        struct td_cur cur = td_cur_at(code, i + 2);
        const int32_t displacement = (int32_t)td_cur_u32(&cur);

        *slot = address + i + 6 + (uint64_t)(int64_t)displacement;
        return true;
    }
    return false;
}

void td_symbols_plt(struct td_elf *elf, struct td_symbol_query *queries, size_t count)
{
    struct td_map slots = {0};

    if (td_elf_machine(elf) != EM_X86_64)
        return;
    for (size_t i = 0; i < count; i++) {
        struct td_symbol_query *q = &queries[i];
        struct td_bytes code = {0};
        uint64_t slot = 0;

        if (q->name)
            continue;
        const struct td_elf_section *s = code_section(elf, q->address);
        if (!s || strncmp(s->name, ".plt", 4) != 0 ||
            td_elf_section_bytes(elf, s, &code, NULL) != TD_OK)
            continue;
        if (!slots.cap)
            read_slots(elf, &slots);
        /* Entries are 16 bytes; .plt.got of old linkers has 8. */
        const uint64_t step = s->entry_size == 8 ? 8 : 16;
        const uint64_t entry = (q->address - s->addr) / step * step;
        const uint32_t *symbol =
            entry_slot(code, entry, s->addr, &slot) ? td_map_find(&slots, slot, 0) : NULL;
        q->name = symbol ? dynamic_name(elf, *symbol) : NULL;
        q->plt = q->name != NULL;
        q->value = s->addr + entry;
        q->size = step;
    }
    td_map_release(&slots);
}

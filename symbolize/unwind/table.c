/* SPDX-License-Identifier: MIT */
/* Builds unwind tables: collects FDEs, sorts them, runs them into rows, names each rule once. */
#include "symbolize/unwind/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"
#include "symbolize/unwind/rule.h"
#include "symbolize/unwind/scan.h"

_Static_assert(sizeof(struct td_unwind_rule) == 16, "a rule is its own 128-bit key");

/* Rules of one file that get a number; more (never seen: big programs have hundreds) are ODD. */
#define RULES_MAX 65535

/* The assembly at an entry point: musl's has 22 bytes, crt1.o's 34, ld.so's 50. */
#define START_BYTES 64
/* Less is alignment. */
#define HOLE_BYTES_MIN 17
/* Scanned of a file at most: what takes a tenth of a second. */
#define SCAN_BYTES_MAX (UINT64_C(64) << 20)

/* The first two rules of every table. */
enum { RULE_NONE = 0, RULE_ODD = 1 };
static const struct td_unwind_rule no_rule = {.cfa_kind = TD_UNWIND_NONE};
static const struct td_unwind_rule odd_rule = {.cfa_kind = TD_UNWIND_ODD};
static const struct td_unwind_rule entry_rule = {.cfa_kind = TD_UNWIND_REG,
                                                 .ra_where = TD_UNWIND_UNDEFINED};
/* Where a process begins there often is no call frame information: nothing called it. */
static const struct td_unwind_rule start_rule = {
    .cfa_kind = TD_UNWIND_REG, .ra_where = TD_UNWIND_UNDEFINED, .guessed = true};

struct fde {
    uint64_t begin, end;
    uint32_t offset;
    uint32_t section;
};

struct builder {
    struct td_unwind_table *table;
    const struct td_elf *file;
    struct fde *fdes;
    size_t fde_count, fde_cap;
    size_t pc_cap, row_rule_cap, rule_cap, index_cap;
    struct td_map rule_ids;
    uint64_t budget;      /* instructions of call frame programs */
    uint64_t scan_budget; /* bytes of code */
    const struct td_cfi *section;
    struct td_cfi_reader reader; /* of the FDE in work */
    uint64_t clip;               /* where the next FDE begins */
    uint64_t row_end;            /* of the row taken last */
};

static bool executable(const struct td_unwind_elf *elf, uint64_t begin, uint64_t end)
{
    for (unsigned i = 0; i < elf->segment_count; i++) {
        const struct td_unwind_segment *s = &elf->segments[i];
        if (s->executable && begin >= s->address && end - s->address <= s->memory_size)
            return true;
    }
    return false;
}

static void collect(struct builder *b, uint32_t section)
{
    struct td_cfi_reader reader = {.cfi = &b->table->elf.sections[section]};
    struct td_cfi_fde fde;
    int n;

    while ((n = td_cfi_next(&reader, &fde, NULL)) != 0) {
        if (n < 0) {
            b->table->bad_count++;
            continue;
        }
        /* Functions that the linker dropped leave FDEs at 0 or nowhere. */
        if (fde.begin >= fde.end || fde.offset > UINT32_MAX ||
            !executable(&b->table->elf, fde.begin, fde.end))
            continue;
        b->fdes = td_grow(b->fdes, &b->fde_cap, b->fde_count + 1, sizeof(*b->fdes));
        b->fdes[b->fde_count++] = (struct fde){fde.begin, fde.end, (uint32_t)fde.offset, section};
    }
}

/* By address; of equal ones the .eh_frame's, then the first in the section, is kept. */
static int compare_fdes(const void *pa, const void *pb)
{
    const struct fde *a = pa, *b = pb;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Drops FDEs that begin where another does, and .debug_frame's where .eh_frame covers. */
static void sort_fdes(struct builder *b)
{
    uint64_t covered = 0;
    size_t kept = 0;

    if (b->fde_count == 0)
        return;
    qsort(b->fdes, b->fde_count, sizeof(*b->fdes), compare_fdes);
    for (size_t i = 0; i < b->fde_count; i++) {
        const struct fde fde = b->fdes[i];

        if (kept && (b->fdes[kept - 1].begin == fde.begin || (fde.section && fde.begin < covered)))
            continue;
        if (fde.section == 0 && fde.end > covered)
            covered = fde.end;
        b->fdes[kept++] = fde;
    }
    b->fde_count = kept;
}

static uint16_t rule_id(struct builder *b, const struct td_unwind_rule *rule)
{
    struct td_unwind_table *t = b->table;
    uint64_t key[2];
    bool added;

    memcpy(key, rule, sizeof(key));
    const uint32_t id = *td_map_put(&b->rule_ids, key[0], key[1], t->rule_count, &added);
    if (!added)
        return (uint16_t)id;
    if (t->rule_count == RULES_MAX) {
        *td_map_find(&b->rule_ids, key[0], key[1]) = RULE_ODD;
        return RULE_ODD;
    }
    t->rules = td_grow(t->rules, &b->rule_cap, t->rule_count + 1, sizeof(*t->rules));
    t->rules[t->rule_count] = *rule;
    return (uint16_t)t->rule_count++;
}

static void add_row(struct builder *b, uint64_t address, const struct td_unwind_rule *rule)
{
    struct td_unwind_table *t = b->table;
    const uint32_t pc = (uint32_t)(address - t->base);
    const uint16_t id = rule_id(b, rule);

    if (t->row_count && t->pcs[t->row_count - 1] == pc)
        t->row_count--; /* an empty row: the end of the FDE before */
    if (t->row_count && t->row_rules[t->row_count - 1] == id)
        return;
    t->pcs = td_grow(t->pcs, &b->pc_cap, (size_t)t->row_count + 1, sizeof(*t->pcs));
    t->row_rules =
        td_grow(t->row_rules, &b->row_rule_cap, (size_t)t->row_count + 1, sizeof(*t->row_rules));
    t->pcs[t->row_count] = pc;
    t->row_rules[t->row_count++] = id;
    t->odd_count += id == RULE_ODD;
    t->guessed_count += rule->guessed;
}

static bool take_row(void *ctx, uint64_t begin, uint64_t end, const struct td_cfi_row *row)
{
    struct builder *b = ctx;
    struct td_unwind_rule rule;

    if (begin >= b->clip)
        return false;
    b->row_end = end;
    td_unwind_rule_from_row(&rule, b->section, &b->reader.cie, row);
    add_row(b, begin, &rule);
    return true;
}

/* Rows of one FDE, up to where the next begins. Budget used up: false. */
static bool add_fde(struct builder *b, size_t i)
{
    const struct fde *f = &b->fdes[i];
    struct td_cfi_fde fde;

    b->section = &b->table->elf.sections[f->section];
    if (b->reader.cfi != b->section)
        b->reader = (struct td_cfi_reader){.cfi = b->section};
    b->reader.pos = f->offset;
    b->clip = i + 1 < b->fde_count && b->fdes[i + 1].begin < f->end ? b->fdes[i + 1].begin : f->end;
    if (f->begin == b->table->elf.entry) {
        /* Nothing called it, whatever its call frame information says: programs that bring their
         * own entry point do not mark it. */
        add_row(b, f->begin, &entry_rule);
        add_row(b, b->clip, &no_rule);
        return true;
    }
    b->row_end = f->begin;
    if (td_cfi_next(&b->reader, &fde, NULL) != 1)
        return true;
    const int rc = td_cfi_rows(b->section, &b->reader.cie, &fde, &b->budget, take_row, b, NULL);
    b->table->bad_count += rc == TD_EFORMAT;
    /* What a program said before it failed holds. */
    add_row(b, b->row_end < b->clip ? b->row_end : b->clip, &no_rule);
    return rc != TD_ELIMIT;
}

static void add_scanned(void *ctx, uint64_t address, const struct td_unwind_rule *rule)
{
    add_row(ctx, address, rule);
}

/* Code of one section from `begin` to `end`, without call frame information. */
static void scan_code(struct builder *b, const struct td_unwind_code *c, uint64_t begin,
                      uint64_t end)
{
    struct td_bytes code;

    if (begin >= end || end - begin < HOLE_BYTES_MIN || end - begin > b->scan_budget ||
        td_elf_chunk(b->file, c->offset + (begin - c->address), end - begin, &code, NULL) < 0)
        return;
    b->scan_budget -= end - begin;
    td_unwind_scan(b->table->elf.arch, code.data, code.size, begin, add_scanned, b);
    add_row(b, end, &no_rule);
}

/* A hole between FDEs, the entry point's code apart. */
static void fill_hole(struct builder *b, uint64_t begin, uint64_t end)
{
    const struct td_unwind_elf *elf = &b->table->elf;

    for (unsigned i = 0; i < elf->code_count && begin < end; i++) {
        const struct td_unwind_code *c = &elf->code[i];
        const uint64_t code_end = c->address + c->size;
        const uint64_t from = begin > c->address ? begin : c->address;
        const uint64_t to = end < code_end ? end : code_end;

        if (from >= to)
            continue;
        if (elf->entry >= from && elf->entry < to) {
            const uint64_t after = to - elf->entry > START_BYTES ? elf->entry + START_BYTES : to;
            scan_code(b, c, from, elf->entry);
            add_row(b, elf->entry, &start_rule);
            add_row(b, after, &no_rule);
            scan_code(b, c, after, to);
        } else {
            scan_code(b, c, from, to);
        }
        begin = to; /* sections of damaged files may overlap; rows may not */
    }
}

static void build_index(struct td_unwind_table *t)
{
    const uint32_t span = t->row_count ? t->pcs[t->row_count - 1] : 0;
    uint32_t row = 0;

    /* About two rows a bucket: 2 more bytes a row. */
    while (t->index_shift < 31 && (span >> t->index_shift) > t->row_count / 2)
        t->index_shift++;
    t->index_count = (span >> t->index_shift) + 2;
    t->index = td_xcalloc(t->index_count, sizeof(*t->index));
    for (uint32_t i = 0; i < t->index_count; i++) {
        const uint64_t start = (uint64_t)i << t->index_shift;
        while (row < t->row_count && t->pcs[row] < start)
            row++;
        t->index[i] = row;
    }
}

/* Gives back what growing took too much. */
static void shrink(struct td_unwind_table *t)
{
    if (t->row_count) {
        t->pcs = td_xrealloc(t->pcs, t->row_count, sizeof(*t->pcs));
        t->row_rules = td_xrealloc(t->row_rules, t->row_count, sizeof(*t->row_rules));
    }
    t->rules = td_xrealloc(t->rules, t->rule_count, sizeof(*t->rules));
}

static uint64_t lowest_code(const struct builder *b)
{
    const struct td_unwind_elf *elf = &b->table->elf;
    uint64_t lowest = b->fde_count ? b->fdes[0].begin : UINT64_MAX;

    if (elf->code_count && elf->code[0].address < lowest)
        lowest = elf->code[0].address;
    return lowest;
}

/* The end of the code, as far as rows can tell addresses. */
static uint64_t highest_code(const struct builder *b)
{
    const struct td_unwind_elf *elf = &b->table->elf;
    uint64_t highest = 0;

    for (unsigned i = 0; i < elf->code_count; i++) {
        const uint64_t end = elf->code[i].address + elf->code[i].size;
        if (end > highest && end - b->table->base <= UINT32_MAX)
            highest = end;
    }
    return highest;
}

static void build(struct builder *b)
{
    struct td_unwind_table *t = b->table;
    uint64_t covered = 0;
    size_t bytes = 0;
    size_t i;

    for (uint32_t s = 0; s < TD_UNWIND_SECTIONS; s++) {
        bytes += t->elf.sections[s].size;
        collect(b, s);
    }
    sort_fdes(b);
    t->base = lowest_code(b);
    /* Real programs take less than one instruction a byte; CIEs' count again for every FDE. */
    b->scan_budget = SCAN_BYTES_MAX;
    b->budget = 16 * (uint64_t)bytes + 4096;
    rule_id(b, &no_rule);
    rule_id(b, &odd_rule);
    for (i = 0; i < b->fde_count; i++) {
        if (b->fdes[i].end - t->base > UINT32_MAX)
            break;
        fill_hole(b, covered, b->fdes[i].begin);
        if (!add_fde(b, i))
            break;
        covered = b->clip;
    }
    if (i == b->fde_count)
        fill_hole(b, covered, highest_code(b));
    t->bad_count += (uint32_t)(b->fde_count - i);
    t->fde_count = (uint32_t)i;
    t->fdes = td_xcalloc(i + 1, sizeof(*t->fdes));
    for (size_t k = 0; k < i; k++) {
        t->fdes[k] = (struct td_unwind_fde){(uint32_t)(b->fdes[k].begin - t->base),
                                            b->fdes[k].offset, b->fdes[k].section};
    }
    build_index(t);
    shrink(t);
}

/* Frees `file`. */
static int make_table(struct td_unwind_table **ret, struct td_elf *file, struct td_err *err)
{
    struct builder b = {.table = td_xcalloc(1, sizeof(*b.table)), .file = file};
    const int rc = td_unwind_elf_read(&b.table->elf, file, err);

    if (rc == TD_OK) {
        build(&b);
        *ret = b.table;
    } else {
        free(b.table);
    }
    td_map_release(&b.rule_ids);
    free(b.fdes);
    td_elf_free(file);
    return rc;
}

int td_unwind_table_new(struct td_unwind_table **ret, struct td_bytes image, struct td_err *err)
{
    struct td_elf *file = NULL;
    const int rc = td_elf_parse(&file, "image in memory", image, err);

    return rc < 0 ? rc : make_table(ret, file, err);
}

int td_unwind_table_from_fd(struct td_unwind_table **ret, const char *name, int fd,
                            struct td_err *err)
{
    struct td_elf *file = NULL;
    const int rc = td_elf_open_fd(&file, name, fd, err);

    return rc < 0 ? rc : make_table(ret, file, err);
}

int td_unwind_table_open(struct td_unwind_table **ret, const char *path, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open %s",
                             path);
    const int rc = td_unwind_table_from_fd(ret, path, fd, err);
    close(fd);
    return rc;
}

void td_unwind_table_free(struct td_unwind_table *table)
{
    if (!table)
        return;
    td_unwind_elf_release(&table->elf);
    free(table->pcs);
    free(table->row_rules);
    free(table->rules);
    free(table->index);
    free(table->fdes);
    free(table);
}

/* The last row that starts at or below the address; row_count when there is none. */
static uint32_t find_row(const struct td_unwind_table *t, uint64_t address)
{
    const uint64_t pc = address - t->base;

    if (t->row_count == 0 || pc >= t->pcs[t->row_count - 1] || pc < t->pcs[0])
        return t->row_count;
    const uint32_t bucket = (uint32_t)pc >> t->index_shift;
    size_t low = t->index[bucket];
    TD_SEARCH(low, t->index[bucket + 1], i, t->pcs[i] <= pc)
    return (uint32_t)low - 1;
}

const struct td_unwind_rule *td_unwind_table_find(const struct td_unwind_table *table,
                                                  uint64_t address)
{
    const uint32_t row = find_row(table, address);

    return row < table->row_count ? &table->rules[table->row_rules[row]] : &table->rules[0];
}

bool td_unwind_table_address(const struct td_unwind_table *table, uint64_t file_offset,
                             uint64_t *address)
{
    for (unsigned i = 0; i < table->elf.segment_count; i++) {
        const struct td_unwind_segment *s = &table->elf.segments[i];
        /* A mapping starts on a page: up to a page before the segment's first byte. */
        const uint64_t slack = s->offset & 0xffff;

        if (!s->executable || file_offset + slack < s->offset ||
            file_offset >= s->offset + s->file_size)
            continue;
        *address = s->address + (file_offset - s->offset);
        return true;
    }
    return false;
}

struct full_search {
    uint64_t address;
    bool found;
    struct td_cfi_row row;
};

static bool take_full_row(void *ctx, uint64_t begin, uint64_t end, const struct td_cfi_row *row)
{
    struct full_search *search = ctx;

    if (search->address < begin || search->address >= end)
        return true;
    search->row = *row;
    search->found = true;
    return false;
}

int td_unwind_table_full_row(const struct td_unwind_table *table, uint64_t address,
                             struct td_unwind_full_row *ret)
{
    struct full_search search = {.address = address};
    struct td_cfi_fde fde;
    const uint64_t pc = address - table->base;
    size_t low = 0;
    uint64_t budget = 1 << 20;

    TD_SEARCH(low, table->fde_count, i, table->fdes[i].pc <= pc)
    if (low == 0 || pc > UINT32_MAX)
        return TD_ENODATA;
    const struct td_unwind_fde *f = &table->fdes[low - 1];
    struct td_cfi_reader reader = {.cfi = &table->elf.sections[f->section], .pos = f->offset};
    if (td_cfi_next(&reader, &fde, NULL) != 1)
        return TD_EFORMAT;
    if (address >= fde.end)
        return TD_ENODATA;
    if (td_cfi_rows(reader.cfi, &reader.cie, &fde, &budget, take_full_row, &search, NULL) < 0 ||
        !search.found)
        return TD_EFORMAT;
    if (fde.begin == table->elf.entry && reader.cie.return_reg < TD_CFI_REGISTERS)
        search.row.regs[reader.cie.return_reg].kind = TD_CFI_UNDEFINED;
    ret->row = search.row;
    ret->cie = reader.cie;
    ret->section = reader.cfi;
    return TD_OK;
}

size_t td_unwind_table_bytes(const struct td_unwind_table *t)
{
    size_t bytes = sizeof(*t) + t->row_count * (sizeof(*t->pcs) + sizeof(*t->row_rules)) +
                   t->rule_count * sizeof(*t->rules) + t->index_count * sizeof(*t->index) +
                   t->fde_count * sizeof(*t->fdes);

    for (unsigned i = 0; i < TD_UNWIND_SECTIONS; i++)
        bytes += t->elf.sections[i].size;
    return bytes;
}

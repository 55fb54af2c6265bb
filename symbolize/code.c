/* SPDX-License-Identifier: MIT */
#include "symbolize/code.h"

#include <elf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "symbolize/debugfile.h"
#include "symbolize/elf/elf.h"
#include "symbolize/elf/symbols.h"

struct td_code_file {
    struct td_elf *elf;
    enum td_code_machine machine;
};

static enum td_code_machine machine_of(const struct td_elf *elf)
{
    switch (td_elf_machine(elf)) {
    case EM_X86_64: return TD_CODE_X86_64;
    case EM_386: return TD_CODE_X86_32;
    case EM_AARCH64: return TD_CODE_AARCH64;
    default: return TD_CODE_OTHER;
    }
}

static struct td_code_file *take(struct td_elf *elf)
{
    struct td_code_file *code = td_xcalloc(1, sizeof(*code));

    code->elf = elf;
    code->machine = machine_of(elf);
    return code;
}

static int check_kind(enum td_module_kind kind, struct td_err *err)
{
    switch (kind) {
    case TD_MODULE_FILE: return TD_OK;
    case TD_MODULE_KERNEL:
    case TD_MODULE_KERNEL_MODULE:
        return td_fail(err, TD_EUNSUPPORTED, "the kernel's code is in no file that can be read");
    case TD_MODULE_VDSO:
        return td_fail(err, TD_EUNSUPPORTED, "the vdso's code is in no file: the kernel maps it");
    case TD_MODULE_ANON:
        return td_fail(err, TD_EUNSUPPORTED,
                       "the program generated this code itself, and a profile does not keep it");
    case TD_MODULE_UNKNOWN:
    default: break;
    }
    return td_fail(err, TD_EUNSUPPORTED, "it is not known which file this code is from");
}

int td_code_open(struct td_code_file **ret, enum td_module_kind kind, const char *path,
                 const struct td_build_id *id, const struct td_origin *origin, struct td_err *err)
{
    struct td_elf *elf = NULL;
    int rc = check_kind(kind, err);

    if (rc == TD_OK)
        rc = td_elf_open(&elf, path, err);
    if (rc == TD_OK)
        rc = td_object_check(elf, id, origin, err);
    if (rc == TD_OK)
        *ret = take(elf);
    else
        td_elf_free(elf);
    return rc;
}

int td_code_parse(struct td_code_file **ret, const char *name, const void *data, size_t size,
                  struct td_err *err)
{
    const struct td_bytes bytes = {.data = data, .size = size};
    struct td_elf *elf = NULL;
    const int rc = td_elf_parse(&elf, name, bytes, err);

    if (rc == TD_OK)
        *ret = take(elf);
    return rc;
}

void td_code_free(struct td_code_file *code)
{
    if (!code)
        return;
    td_elf_free(code->elf);
    free(code);
}

enum td_code_machine td_code_machine(const struct td_code_file *code)
{
    return code->machine;
}

const char *td_code_machine_name(enum td_code_machine machine)
{
    static const char *const names[] = {[TD_CODE_OTHER] = "this machine",
                                        [TD_CODE_X86_64] = "x86-64",
                                        [TD_CODE_X86_32] = "x86 (32 bits)",
                                        [TD_CODE_AARCH64] = "aarch64"};

    return names[machine];
}

size_t td_code_bytes(const struct td_code_file *code, uint64_t offset, size_t size,
                     const uint8_t **ret)
{
    const struct td_bytes file = td_elf_bytes(code->elf);

    for (size_t i = 0; i < td_elf_segment_count(code->elf); i++) {
        const struct td_elf_segment *s = td_elf_segment_at(code->elf, i);

        if (!s->executable || offset < s->offset || offset - s->offset >= s->file_size ||
            offset >= file.size)
            continue;
        const uint64_t in_segment = s->file_size - (offset - s->offset);
        const uint64_t in_file = file.size - offset;
        const uint64_t left = in_segment < in_file ? in_segment : in_file;

        *ret = file.data + offset;
        return left < size ? (size_t)left : size;
    }
    return 0;
}

bool td_code_address(const struct td_code_file *code, uint64_t offset, uint64_t *address)
{
    return td_elf_vaddr(code->elf, offset, address);
}

bool td_code_offset(const struct td_code_file *code, uint64_t address, uint64_t *offset)
{
    return td_elf_offset(code->elf, address, offset);
}

/* Queries go by address; in a file with several executable segments their order may be another. */
static int by_address(const void *a, const void *b)
{
    const struct td_symbol_query *x = a, *y = b;

    return (x->address > y->address) - (x->address < y->address);
}

static size_t lower(const struct td_code_extent *extents, size_t count, uint64_t offset)
{
    size_t low = 0;

    TD_SEARCH(low, count, i, extents[i].offset < offset)
    return low;
}

/* A symbol without a size, of hand-written code, is known to reach at least to who asks. */
static void use_query(const struct td_code_file *code, const struct td_symbol_query *q,
                      struct td_code_extent *extents, size_t count)
{
    const uint64_t limit = td_elf_bytes(code->elf).size;
    uint64_t offset = 0, start = 0;

    if (!q->name || q->address < q->value || (q->size > 0 && q->address - q->value >= q->size) ||
        !td_elf_offset(code->elf, q->address, &offset) ||
        !td_elf_offset(code->elf, q->value, &start) || start > offset)
        return;
    const uint64_t size = q->size ? q->size : offset - start + 1;
    for (size_t i = lower(extents, count, offset); i < count && extents[i].offset == offset; i++) {
        extents[i].start = start;
        extents[i].end = start + (size < limit - start ? size : limit - start);
    }
}

void td_code_extents(struct td_code_file *code, struct td_code_extent *extents, size_t count)
{
    struct td_symbol_query *queries = td_xcalloc(count + 1, sizeof(*queries));
    size_t len = 0;

    for (size_t i = 0; i < count; i++) {
        extents[i].start = extents[i].end = extents[i].offset;
        if (td_elf_vaddr(code->elf, extents[i].offset, &queries[len].address))
            len++;
    }
    qsort(queries, len, sizeof(*queries), by_address);
    td_symbols_lookup(code->elf, ".symtab", queries, len);
    td_symbols_lookup(code->elf, ".dynsym", queries, len);
    td_symbols_plt(code->elf, queries, len);
    for (size_t i = 0; i < len; i++)
        use_query(code, &queries[i], extents, count);
    free(queries);
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/maps/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"

#define MAGIC          0x4a695444u /* "JiTD", in the writer's byte order */
#define MAGIC_SWAPPED  0x4454694au
#define HEADER_BYTES   40
#define HEADER_SIZE_AT 8
#define ARCH_TIMESTAMP 1u /* a header flag: times are the CPU's, not CLOCK_MONOTONIC's */
#define PREFIX_BYTES   16
/* What is kept of a file: headers, names and lines, without machine code. */
#define KEPT_LIMIT  ((size_t)64 << 20)
#define LINES_LIMIT ((size_t)32 << 20)   /* with more than that kept, lines are left out */
#define READ_NS     UINT64_C(1000000000) /* rings fill meanwhile */
/* Of a piece of code's record: all but its code, with the longest name. */
#define LOAD_FIXED     40
#define LOAD_BYTES_MAX ((size_t)64 << 10)
/* Lines of one piece of code, or what is no record. */
#define BODY_BYTES_MAX ((size_t)16 << 20)
/* How many pieces of code that begin before an address are looked at. */
#define LOOK_BACK 4096
/* V8 gives the addresses of lines as they will be in an ELF file made of the code, behind its
 * 64-byte header. */
#define ELF_HEADER_BYTES 0x40

/* Code is smaller than that. */
#define CODE_BYTES_MAX ((uint64_t)16 << 20)

enum record { CODE_LOAD = 0, CODE_MOVE = 1, CODE_DEBUG_INFO = 2 };

struct parser {
    struct td_jitdump *dump;
    struct td_map live; /* address to the index of the last code loaded there */
    bool arch_times;
    bool shifted; /* the lines of this writer are ELF_HEADER_BYTES too far */
    /* Lines that wait for the code they describe. */
    uint64_t waiting_address;
    size_t waiting_first, waiting_count;
};

bool td_jitdump_is_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    if (strncmp(name, "jit-", 4) != 0)
        return false;
    const size_t digits = strspn(name + 4, "0123456789");
    return digits > 0 && strcmp(name + 4 + digits, ".dump") == 0;
}

/* A terminated text, of which the terminator is not counted. */
static const char *take_text(struct td_rd *rd, size_t *len)
{
    const size_t left = td_rd_left(rd);
    const char *text = (const char *)rd->data + rd->pos;

    *len = left ? strnlen(text, left) : 0;
    if (*len == left)
        td_rd_fail(rd);
    td_rd_bytes(rd, *len + 1);
    return text;
}

static void add_code(struct parser *p, const struct td_jitdump_code *code)
{
    struct td_jitdump *dump = p->dump;

    if (code->size == 0 || code->size > UINT64_MAX - code->start)
        return;
    dump->codes = td_grow(dump->codes, &dump->code_cap, dump->code_count + 1, sizeof(*code));
    dump->codes[dump->code_count] = *code;
    dump->codes[dump->code_count].order = dump->code_count;
    *td_map_put(&p->live, code->start, 0, 0, NULL) = (uint32_t)dump->code_count;
    dump->code_count++;
}

static void check_shift(struct parser *p, const struct td_jitdump_code *code)
{
    const struct td_jitdump_line *lines = p->dump->lines + code->line_first;

    for (size_t i = 0; i < code->line_count && !p->shifted; i++)
        p->shifted = lines[i].address >= code->start &&
                     lines[i].address - code->start > code->size &&
                     lines[i].address - code->start - ELF_HEADER_BYTES <= code->size;
}

static void take_load(struct parser *p, struct td_rd *rd, uint64_t time_ns)
{
    struct td_jitdump_code code = {.from_ns = time_ns, .until_ns = UINT64_MAX};

    td_rd_u64(rd); /* pid, tid */
    td_rd_u64(rd); /* where it was emitted: the next is where it runs */
    code.start = td_rd_u64(rd);
    code.size = td_rd_u64(rd);
    td_rd_u64(rd); /* its index */
    code.name = take_text(rd, &code.name_len);
    if (!td_rd_ok(rd))
        return;
    if (p->waiting_count && p->waiting_address == code.start) {
        code.line_first = p->waiting_first;
        code.line_count = p->waiting_count;
        check_shift(p, &code);
    }
    p->waiting_count = 0;
    add_code(p, &code);
}

static void take_move(struct parser *p, struct td_rd *rd, uint64_t time_ns)
{
    td_rd_u64(rd); /* pid, tid */
    td_rd_u64(rd); /* as in a load */
    const uint64_t old = td_rd_u64(rd), start = td_rd_u64(rd), size = td_rd_u64(rd);
    const uint32_t *index = td_map_find(&p->live, old, 0);

    if (!td_rd_ok(rd) || !index)
        return;
    struct td_jitdump_code code = p->dump->codes[*index];
    if (!p->arch_times)
        p->dump->codes[*index].until_ns = time_ns;
    code.start = start;
    code.size = size;
    code.from_ns = time_ns;
    code.until_ns = UINT64_MAX;
    code.line_count = 0; /* their addresses are the old ones */
    add_code(p, &code);
}

/* The file of a line. V8 writes it from memory that it has freed (node 20): then there are other
 * bytes in it, zeros too, and it ends where the next line's address makes sense. */
static const char *take_file(const struct parser *p, struct td_rd *rd, bool last, size_t *len)
{
    const char *text = take_text(rd, len);

    while (td_rd_ok(rd) && !last) {
        struct td_rd next = *rd;
        size_t more;

        if (td_rd_u64(&next) - p->waiting_address < CODE_BYTES_MAX || !td_rd_ok(&next))
            break;
        take_text(rd, &more);
        *len += 1 + more;
    }
    return text;
}

static bool is_clean(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < ' ')
            return false;
    }
    return true;
}

/* "\xff" stands for the file of the line before. */
static void take_lines(struct parser *p, struct td_rd *rd)
{
    struct td_jitdump *dump = p->dump;
    struct td_jitdump_line line = {.file_len = 0};

    p->waiting_address = td_rd_u64(rd);
    p->waiting_first = dump->line_count;
    for (uint64_t left = td_rd_u64(rd); left > 0 && td_rd_ok(rd); left--) {
        size_t len;

        line.address = td_rd_u64(rd);
        line.line = td_rd_u32(rd);
        td_rd_u32(rd); /* discriminator */
        const char *file = take_file(p, rd, left == 1, &len);
        if (!td_rd_ok(rd))
            break;
        if (len != 1 || file[0] != '\xff') {
            line.file = file;
            line.file_len = is_clean(file, len) ? len : 0;
        }
        dump->lines =
            td_grow(dump->lines, &dump->line_cap, dump->line_count + 1, sizeof(*dump->lines));
        dump->lines[dump->line_count++] = line;
    }
    p->waiting_count = dump->line_count - p->waiting_first;
}

static int take_header(struct parser *p, struct td_rd *rd, struct td_err *err)
{
    const uint32_t magic = td_rd_u32(rd), version = td_rd_u32(rd), size = td_rd_u32(rd);

    td_rd_bytes(rd, 12); /* machine, padding, pid */
    td_rd_u64(rd);       /* when it was begun */
    const uint64_t flags = td_rd_u64(rd);
    if (td_rd_ok(rd) && magic == MAGIC_SWAPPED)
        return td_fail(err, TD_EFORMAT, "a jitdump of the other byte order");
    if (!td_rd_ok(rd) || magic != MAGIC || version != 1 || size < HEADER_BYTES)
        return td_fail_at(err, TD_EFORMAT, td_rd_offset(rd), "no jitdump of version 1");
    td_rd_bytes(rd, size - HEADER_BYTES);
    p->arch_times = flags & ARCH_TIMESTAMP;
    return TD_OK;
}

/* False at the end of what can be read. */
static bool take_record(struct parser *p, struct td_rd *rd)
{
    const uint32_t id = td_rd_u32(rd), size = td_rd_u32(rd);
    const uint64_t time = td_rd_u64(rd);

    if (!td_rd_ok(rd) || size < PREFIX_BYTES || size - PREFIX_BYTES > td_rd_left(rd))
        return false;
    const uint8_t *bytes = td_rd_bytes(rd, size - PREFIX_BYTES);
    struct td_rd body = td_rd_init(bytes, size - PREFIX_BYTES, 0);
    switch (id) {
    case CODE_LOAD: take_load(p, &body, p->arch_times ? 0 : time); break;
    case CODE_MOVE: take_move(p, &body, p->arch_times ? 0 : time); break;
    case CODE_DEBUG_INFO: take_lines(p, &body); break;
    default: break; /* the end, unwinding tables, what comes later */
    }
    return td_rd_ok(&body);
}

static int compare(const void *a, const void *b)
{
    const struct td_jitdump_code *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void finish(struct parser *p)
{
    struct td_jitdump *dump = p->dump;
    uint64_t end = 0;

    td_map_release(&p->live);
    for (size_t i = 0; i < dump->line_count && p->shifted; i++)
        dump->lines[i].address -= ELF_HEADER_BYTES;
    if (dump->code_count == 0)
        return;
    qsort(dump->codes, dump->code_count, sizeof(*dump->codes), compare);
    dump->ends = td_xcalloc(dump->code_count, sizeof(*dump->ends));
    for (size_t i = 0; i < dump->code_count; i++) {
        const uint64_t own = dump->codes[i].start + dump->codes[i].size;

        end = own > end ? own : end;
        dump->ends[i] = end;
    }
}

int td_jitdump_parse(struct td_jitdump *dump, const uint8_t *data, size_t size, struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    struct parser p = {.dump = dump};
    const int rc = take_header(&p, &rd, err);

    if (rc < 0)
        return rc;
    dump->stopped_at = td_rd_offset(&rd);
    while (td_rd_left(&rd) > 0 && dump->code_count < UINT32_MAX && take_record(&p, &rd))
        dump->stopped_at = td_rd_offset(&rd);
    finish(&p);
    return TD_OK;
}

/* Reads `size` bytes at `offset` behind what was kept; as many as there are. */
static size_t keep_bytes(struct td_buf *kept, int fd, uint64_t offset, size_t size)
{
    uint8_t *to = td_buf_reserve(kept, size);
    size_t have = 0;
    ssize_t n = 1;

    while (have < size && n > 0) {
        n = pread(fd, to + have, size - have, (off_t)(offset + have));
        have += n > 0 ? (size_t)n : 0;
    }
    kept->len += have;
    return have;
}

/* Cuts the code that was kept of a record off, behind its name. False without a whole name. */
static bool drop_code(struct td_buf *kept, size_t record)
{
    const size_t name = record + PREFIX_BYTES + LOAD_FIXED;
    const uint8_t *end = name < kept->len ? memchr(kept->data + name, 0, kept->len - name) : NULL;

    if (!end)
        return false;
    kept->len = (size_t)(end - kept->data) + 1;
    const uint32_t size = (uint32_t)(kept->len - record);
    memcpy(kept->data + record + 4, &size, sizeof(size));
    return true;
}

/* Keeps what names and lines need of the record at *offset, and goes behind it. False at the end,
 * or at what is no record. */
static bool keep_record(struct td_buf *kept, int fd, uint64_t *offset)
{
    const size_t record = kept->len;
    const size_t head = keep_bytes(kept, fd, *offset, PREFIX_BYTES);
    struct td_rd rd = td_rd_init(kept->data + record, head, 0);
    const uint32_t id = td_rd_u32(&rd), size = td_rd_u32(&rd);
    const size_t most = id == CODE_LOAD ? LOAD_BYTES_MAX : BODY_BYTES_MAX;
    const bool wanted =
        id == CODE_LOAD || id == CODE_MOVE || (id == CODE_DEBUG_INFO && record < LINES_LIMIT);

    if (head < PREFIX_BYTES || size < PREFIX_BYTES) {
        kept->len = record;
        return false;
    }
    const size_t body = size - PREFIX_BYTES < most ? size - PREFIX_BYTES : most;
    if (wanted && keep_bytes(kept, fd, *offset + PREFIX_BYTES, body) < body) {
        kept->len = record;
        return false;
    }
    const bool whole = body == size - PREFIX_BYTES;
    const bool good = id == CODE_LOAD ? drop_code(kept, record) : wanted && whole;
    if (!good)
        kept->len = record;
    if (!good && whole && id == CODE_LOAD)
        return false;
    *offset += size;
    return true;
}

int td_jitdump_read(struct td_jitdump *dump, int fd, uid_t owner, struct td_err *err)
{
    const uint64_t deadline = td_clock_ns() + READ_NS;
    uint64_t offset = HEADER_BYTES;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot stat the jitdump");
    if (!S_ISREG(st.st_mode) || (st.st_uid != owner && st.st_uid != 0))
        return td_fail(err, TD_EMISMATCH,
                       "the jitdump is not a regular file, or another user's (%u)",
                       (unsigned)st.st_uid);
    if (keep_bytes(&dump->bytes, fd, 0, HEADER_BYTES) == HEADER_BYTES) {
        struct td_rd rd = td_rd_init(dump->bytes.data + HEADER_SIZE_AT, 4, 0);
        const uint32_t size = td_rd_u32(&rd);

        if (size > HEADER_BYTES && size <= LOAD_BYTES_MAX)
            offset += keep_bytes(&dump->bytes, fd, offset, size - HEADER_BYTES);
        while (dump->bytes.len < KEPT_LIMIT && td_clock_ns() < deadline &&
               keep_record(&dump->bytes, fd, &offset))
            ;
    }
    dump->cut = dump->bytes.len >= LINES_LIMIT || td_clock_ns() >= deadline;
    return td_jitdump_parse(dump, dump->bytes.data, dump->bytes.len, err);
}

/* Whether `a` says better than `b` what was there at that time. */
static bool better(const struct td_jitdump_code *a, const struct td_jitdump_code *b,
                   uint64_t time_ns)
{
    const bool early = a->from_ns > time_ns;

    if (!b)
        return true;
    if (early != (b->from_ns > time_ns))
        return !early;
    if (a->from_ns != b->from_ns)
        return early ? a->from_ns < b->from_ns : a->from_ns > b->from_ns;
    return a->order > b->order;
}

static const struct td_jitdump_line *find_line(const struct td_jitdump *dump,
                                               const struct td_jitdump_code *code, uint64_t address)
{
    const struct td_jitdump_line *best = NULL;

    for (size_t i = 0; i < code->line_count; i++) {
        const struct td_jitdump_line *line = &dump->lines[code->line_first + i];

        if (line->address <= address && (!best || line->address >= best->address))
            best = line;
    }
    return best;
}

/* "JS:*work /src/app.js:12:7": V8's names hold the file of the function. */
static void file_of_name(const struct td_jitdump_code *code, struct td_jitdump_place *ret)
{
    const char *name = code->name, *space = memchr(name, ' ', code->name_len);
    size_t len = code->name_len, colons = 0;

    if (!space)
        return;
    for (; len > 0 && colons < 2; len--) {
        const char c = name[len - 1];

        if (c == ':')
            colons++;
        else if (c < '0' || c > '9')
            return;
    }
    if (colons == 2 && name + len > space + 1) {
        ret->file = space + 1;
        ret->file_len = (size_t)(name + len - ret->file);
    }
}

static void set_line(const struct td_jitdump *dump, uint64_t address, struct td_jitdump_place *ret)
{
    const struct td_jitdump_line *line = find_line(dump, ret->code, address);

    if (!line)
        return;
    ret->file = line->file;
    ret->file_len = line->file_len;
    if (line->file_len == 0)
        file_of_name(ret->code, ret);
    ret->line = ret->file_len ? line->line : 0;
}

bool td_jitdump_find(const struct td_jitdump *dump, uint64_t address, uint64_t time_ns,
                     struct td_jitdump_place *ret)
{
    const struct td_jitdump_code *best = NULL;
    size_t low = 0;

    /* the first piece behind the address */
    TD_SEARCH(low, dump->code_count, i, dump->codes[i].start <= address)
    for (size_t i = low; i > 0 && low - i < LOOK_BACK && dump->ends[i - 1] > address; i--) {
        const struct td_jitdump_code *code = &dump->codes[i - 1];

        if (address - code->start < code->size && code->until_ns > time_ns &&
            better(code, best, time_ns))
            best = code;
    }
    if (!best)
        return false;
    *ret = (struct td_jitdump_place){.code = best};
    set_line(dump, address, ret);
    return true;
}

void td_jitdump_release(struct td_jitdump *dump)
{
    free(dump->codes);
    free(dump->ends);
    free(dump->lines);
    td_buf_release(&dump->bytes);
    *dump = (struct td_jitdump){.stopped_at = 0};
}

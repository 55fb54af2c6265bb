/* SPDX-License-Identifier: MIT */
/* The loader: loader.h says what it does. Freestanding. */
#include "record/sim/window/loader/loader.h"

#include "record/sim/window/loader/machine.h"

#define PAGE       TD_LIVE_IMAGE_PAGE
#define STACK_ROOM (UINT64_C(8) << 20) /* below a stack that grows */
#define RESERVATION_MAX                                                      \
    (UINT64_C(256) << 20) /* of no access: QEMU walks all pages of a mapping \
                           */

/* sys/mman.h, fcntl.h */
enum {
    PROT_WRITES = 2,
    PROT_CODE = 4,
    MAP_IS_PRIVATE = 2,
    MAP_IS_FIXED = 0x10,
    MAP_IS_ANONYMOUS = 0x20,
    MAP_HAS_NO_RESERVE = 0x4000,
    AT_WORKING_FOLDER = -100,
    OPEN_READ = 0x900, /* O_RDONLY, O_NONBLOCK, O_NOCTTY */
    ACCESS_MODE = 3,
};

extern char loader_end[] __asm__("_end") __attribute__((visibility("hidden")));

struct image {
    bool loaded;
    struct td_live_image_head head;
    uint8_t tables[TD_LOADER_TABLES_BYTES] __attribute__((aligned(64)));
};

static struct image images[2];
static unsigned present;     /* index of the one that runs */
static uint64_t extra_start; /* the room below its stack; 0: none */
static char signal_stack[16384] __attribute__((aligned(64)));

static const struct td_live_mapping_layout *mapping_at(const struct image *image, uint32_t i)
{
    return (const void *)(image->tables + image->head.mappings +
                          i * sizeof(struct td_live_mapping_layout));
}

static const struct td_live_file_layout *file_at(const struct image *image, uint32_t i)
{
    return (const void *)(image->tables + image->head.files +
                          i * sizeof(struct td_live_file_layout));
}

static const char *string_at(const struct image *image, uint32_t at)
{
    return at < image->head.strings_size ? (const char *)image->tables + image->head.strings + at
                                         : "";
}

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool failed(long result)
{
    return result < 0 && result > -4096;
}

static long open_file(const char *name)
{
    return CALL(CALL_OPENAT, AT_WORKING_FOLDER, name, OPEN_READ, 0, 0, 0);
}

static bool fits(const struct td_live_image_head *h, uint32_t at, uint64_t count, uint64_t size)
{
    return at <= h->tables_size && count <= (h->tables_size - at) / size;
}

static bool is_whole(const struct td_live_image_head *h)
{
    return h->magic == TD_LIVE_IMAGE_MAGIC && h->version == TD_LIVE_IMAGE_VERSION &&
           h->machine == MACHINE && fits(h, h->registers, h->registers_size, 1) &&
           fits(h, h->vector, h->vector_size, 1) && fits(h, h->strings, h->strings_size, 1) &&
           fits(h, h->mappings, h->mapping_count, sizeof(struct td_live_mapping_layout)) &&
           fits(h, h->files, h->file_count, sizeof(struct td_live_file_layout)) &&
           td_machine_can_resume(h);
}

static bool read_all(long fd, void *to, uint64_t size, uint64_t offset)
{
    uint8_t *bytes = to;

    while (size > 0) {
        const long got = CALL(CALL_PREAD, fd, bytes, size, offset, 0, 0);

        if (got <= 0)
            return false;
        bytes += got, offset += (uint64_t)got, size -= (uint64_t)got;
    }
    return true;
}

/* Head and tables. */
static enum td_loader_lost read_tables(struct image *image, long fd)
{
    if (!read_all(fd, &image->head, sizeof(image->head), 0))
        return TD_LOADER_LOST_FORMAT;
    if (image->head.tables_size > sizeof(image->tables))
        return TD_LOADER_LOST_LARGE;
    if (!read_all(fd, image->tables, image->head.tables_size, image->head.tables) ||
        !is_whole(&image->head))
        return TD_LOADER_LOST_FORMAT;
    return TD_LOADER_LOADED;
}

/* Whether something lies over the mapping of this index. */
static bool is_covered(const struct image *image, uint32_t i)
{
    return i + 1 < image->head.mapping_count && mapping_at(image, i + 1)->flags & TD_LIVE_OVER;
}

/* Whether the mapping is in the other image, too, and shows the same. */
static bool stays(const struct image *image, uint32_t i, const struct image *other)
{
    const struct td_live_mapping_layout *m = mapping_at(image, i);

    if (!other->loaded || m->content != TD_LIVE_FILE || m->protection & PROT_WRITES ||
        m->flags & TD_LIVE_OVER || is_covered(image, i))
        return false;
    for (uint32_t k = 0; k < other->head.mapping_count; k++) {
        const struct td_live_mapping_layout *o = mapping_at(other, k);

        if (o->start == m->start)
            return o->content == TD_LIVE_FILE && o->size == m->size &&
                   o->file_offset == m->file_offset && o->protection == m->protection &&
                   !is_covered(other, k) &&
                   equal(string_at(image, m->name), string_at(other, o->name));
    }
    return false;
}

/* The emulator's brk begins behind the loader: where the heap does, brk works as the program's. */
static bool has_brk(const struct image *image)
{
    const uint64_t end = (uint64_t)(uintptr_t)loader_end;

    return image->head.heap_start == (end + PAGE - 1) / PAGE * PAGE;
}

static bool is_in_brk(const struct image *image, const struct td_live_mapping_layout *m)
{
    const struct td_live_image_head *h = &image->head;

    return has_brk(image) && m->start >= h->heap_start && m->start + m->size <= h->heap_end;
}

static bool is_skipped(const struct td_live_mapping_layout *m)
{
    return m->content == TD_LIVE_NOTHING && m->protection == 0 && m->size > RESERVATION_MAX;
}

static void unmap(const struct image *image, const struct image *next)
{
    for (uint32_t i = 0; image->loaded && i < image->head.mapping_count; i++) {
        const struct td_live_mapping_layout *m = mapping_at(image, i);

        if (!(m->flags & TD_LIVE_OVER) && !is_in_brk(image, m) && !is_skipped(m) &&
            !stays(image, i, next))
            CALL(CALL_MUNMAP, m->start, m->size, 0, 0, 0, 0);
    }
    if (extra_start)
        CALL(CALL_MUNMAP, extra_start, STACK_ROOM, 0, 0, 0, 0);
    extra_start = 0;
}

static void close_files(const struct image *image)
{
    for (uint32_t i = 0; image->loaded && i < image->head.file_count; i++) {
        const struct td_live_file_layout *file = file_at(image, i);

        if (file->descriptor < TD_LOADER_FIRST)
            CALL(CALL_CLOSE, file->descriptor, 0, 0, 0, 0, 0);
    }
}

/* Regular files are read on where they stand; what is written is lost; there are no others. */
static void open_files(const struct image *image)
{
    for (uint32_t i = 0; i < image->head.file_count; i++) {
        const struct td_live_file_layout *file = file_at(image, i);

        if (file->descriptor >= TD_LOADER_FIRST)
            continue;
        if (file->kind == TD_LIVE_READ) {
            const long fd = open_file(string_at(image, file->name));

            if (failed(fd))
                continue;
            CALL(CALL_LSEEK, fd, file->offset, 0, 0, 0, 0);
            if (fd == (long)file->descriptor)
                continue;
            CALL(CALL_DUP3, fd, file->descriptor, 0, 0, 0, 0);
            CALL(CALL_CLOSE, fd, 0, 0, 0, 0, 0);
        } else if (file->kind == TD_LIVE_SINK || (file->flags & ACCESS_MODE) != 0) {
            CALL(CALL_DUP3, TD_LOADER_NULL, file->descriptor, 0, 0, 0, 0);
        }
    }
}

/* Where a program has code, a mapping keeps the name of its file, or has none: what lies over it,
 * and what a JIT made, is copied and not mapped. */
static enum td_loader_lost copy_code(const struct td_live_mapping_layout *m, long fd)
{
    if (!(m->flags & TD_LIVE_OVER) &&
        CALL(CALL_MMAP, m->start, m->size, m->protection | PROT_WRITES,
             MAP_IS_PRIVATE | MAP_IS_ANONYMOUS | MAP_HAS_NO_RESERVE, -1, 0) != (long)m->start)
        return TD_LOADER_LOST_PLACE;
    if (m->flags & TD_LIVE_OVER)
        CALL(CALL_MPROTECT, m->start, m->size, m->protection | PROT_WRITES, 0, 0, 0);
    if (!read_all(fd, (void *)(uintptr_t)m->start, m->size, m->offset))
        return TD_LOADER_LOST_FORMAT;
    if (!(m->protection & PROT_WRITES))
        CALL(CALL_MPROTECT, m->start, m->size, m->protection, 0, 0, 0);
    return TD_LOADER_LOADED;
}

static enum td_loader_lost map_at(const struct td_live_mapping_layout *m, long flags, long fd,
                                  uint64_t offset)
{
    const long got = CALL(CALL_MMAP, m->start, m->size, m->protection,
                          flags | MAP_IS_PRIVATE | MAP_HAS_NO_RESERVE, fd, offset);

    return got == (long)m->start ? TD_LOADER_LOADED : TD_LOADER_LOST_PLACE;
}

static enum td_loader_lost map_file(const struct image *image,
                                    const struct td_live_mapping_layout *m, long flags)
{
    const long fd = open_file(string_at(image, m->name));

    if (failed(fd))
        return TD_LOADER_LOST_FILE;
    const enum td_loader_lost lost = map_at(m, flags, fd, m->file_offset);
    CALL(CALL_CLOSE, fd, 0, 0, 0, 0, 0);
    return lost;
}

static enum td_loader_lost map_one(const struct image *image,
                                   const struct td_live_mapping_layout *m, long fd)
{
    const bool fixed = m->flags & TD_LIVE_OVER || is_in_brk(image, m);
    const long flags = fixed ? MAP_IS_FIXED : 0;

    if (is_skipped(m))
        return TD_LOADER_LOADED;
    if (m->content == TD_LIVE_NOTHING)
        return map_at(m, flags | MAP_IS_ANONYMOUS, -1, 0);
    if (m->content == TD_LIVE_FILE)
        return map_file(image, m, flags);
    return m->protection & PROT_CODE ? copy_code(m, fd) : map_at(m, flags, fd, m->offset);
}

/* What lies over a mapping comes behind it in the table. */
static bool base_stays(const struct image *image, uint32_t i, const struct image *before)
{
    while (i > 0 && mapping_at(image, i)->flags & TD_LIVE_OVER)
        i--;
    return stays(image, i, before);
}

static enum td_loader_lost map_all(const struct image *image, const struct image *before, long fd)
{
    enum td_loader_lost lost = TD_LOADER_LOADED;
    uint64_t stack = 0;

    if (has_brk(image))
        CALL(CALL_BRK, image->head.heap_end, 0, 0, 0, 0, 0);
    for (uint32_t i = 0; lost == TD_LOADER_LOADED && i < image->head.mapping_count; i++) {
        const struct td_live_mapping_layout *m = mapping_at(image, i);

        if (m->flags & TD_LIVE_STACK)
            stack = m->start;
        if (!base_stays(image, i, before))
            lost = map_one(image, m, fd);
    }
    if (!stack || lost != TD_LOADER_LOADED)
        return lost;
    const long got = CALL(CALL_MMAP, stack - STACK_ROOM, STACK_ROOM, 3,
                          MAP_IS_PRIVATE | MAP_IS_ANONYMOUS | MAP_HAS_NO_RESERVE, -1, 0);
    if (got == (long)(stack - STACK_ROOM))
        extra_start = stack - STACK_ROOM;
    else if (!failed(got))
        CALL(CALL_MUNMAP, got, STACK_ROOM, 0, 0, 0, 0);
    return lost;
}

static enum td_loader_lost load(struct image *image, struct image *before, const char *name)
{
    const long fd = open_file(name);

    image->loaded = false;
    if (failed(fd))
        return TD_LOADER_LOST_OPEN;
    /* Not where the program has one. */
    CALL(CALL_DUP3, fd, TD_LOADER_LAST, 0, 0, 0, 0);
    CALL(CALL_CLOSE, fd, 0, 0, 0, 0, 0);
    enum td_loader_lost lost = read_tables(image, TD_LOADER_LAST);
    if (lost == TD_LOADER_LOADED) {
        close_files(before);
        image->loaded = true;
        unmap(before, image);
        lost = map_all(image, before, TD_LOADER_LAST);
        before->loaded = false;
        open_files(image);
    }
    return lost; /* the plugin reads on in it */
}

static void leave(void) __attribute__((noreturn));

static void leave(void)
{
    for (;;)
        CALL(CALL_EXIT_GROUP, 0, 0, 0, 0, 0, 0);
}

/* The next image that can be loaded, or the end. */
static void go_on(void) __attribute__((noreturn));

static void go_on(void)
{
    char name[TD_LOADER_NAME_BYTES];

    for (;;) {
        struct image *before = &images[present], *next = &images[!present];

        if (CALL(CALL_READ, TD_LOADER_NAMES, name, sizeof(name), 0, 0, 0) != sizeof(name))
            leave();
        name[sizeof(name) - 1] = '\0';
        const enum td_loader_lost lost = load(next, before, name);

        if (next->loaded)
            present = !present;
        if (lost == TD_LOADER_LOADED) {
            td_machine_prepare(&next->head, next->tables);
            CALL(TD_LOADER_CALL, TD_LOADER_BEGIN, &next->head, 0, 0, 0, 0);
            td_machine_resume(&next->head, next->tables);
        }
        CALL(TD_LOADER_CALL, TD_LOADER_LOST, lost, next->head.number, 0, 0, 0);
        /* Elsewhere there may be room: the emulator is started again. */
        if (lost == TD_LOADER_LOST_PLACE)
            leave();
    }
}

/* The answer of a call is what the handler returns to; else there is no way back. */
static void on_signal(int number, void *info, void *interrupted)
{
    struct td_loader_answer answer = {.valid = 0};

    (void)number, (void)info;
    CALL(TD_LOADER_CALL, TD_LOADER_ASK, &answer, 0, 0, 0, 0);
    if (!answer.valid)
        go_on();
    td_machine_answer(interrupted, answer.result, answer.again != 0);
}

static void on_fault(int number, void *info, void *interrupted)
{
    (void)info, (void)interrupted;
    CALL(TD_LOADER_CALL, TD_LOADER_FAULT, number, 0, 0, 0, 0);
    go_on();
}

void td_loader_main(void)
{
    static const int faults[] = {4 /* ILL */, 5 /* TRAP */, 7 /* BUS */, 8 /* FPE */,
                                 11 /* SEGV */};
    const struct {
        void *at;
        int flags;
        uint64_t size;
    } stack = {signal_stack, 0, sizeof(signal_stack)};

    CALL(CALL_SIGALTSTACK, &stack, 0, 0, 0, 0, 0);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        td_machine_on_signal(faults[i], on_fault);
    td_machine_on_signal(TD_LOADER_SIGNAL, on_signal);
    go_on();
}

/* SPDX-License-Identifier: MIT */
#include "record/sim/share/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "formats/cores/variant.h"
#include "record/sim/share/sealed.h"

enum {
    IMAGES_MAX = 16384,
    NOTES_BYTES = 65536,
    WINDOWS_MAX = 65536,
    ROOM_MIN_BYTES = 65536,
    ROOM_ALIGN = 4096,
};

/* Address space, not memory: only what is written takes room. */
#define MAILBOX_BYTES     (UINT64_C(4) << 30)
#define MAILBOX_MIN_BYTES (UINT64_C(16) << 20)
#define MAGIC             UINT64_C(0x6c6f6f7073647431)

enum state { FREE, CLAIMED, ENDED };

struct room {
    uint64_t offset, capacity, size;
};

struct image {
    _Atomic uint32_t state;
    /* Room [sequence & 1] holds the snapshot. The store pairs with the loads in td_mailbox_look and
     * td_mailbox_get. */
    _Atomic uint32_t sequence;
    struct room rooms[2];
    _Atomic uint32_t pid, answered; /* answered: what `asked` was when the snapshot was put */
};

struct window {
    _Atomic uint32_t told; /* 1: the rest is there */
    struct td_mailbox_window window;
};

struct header {
    uint64_t magic, size;
    _Atomic uint64_t next; /* the first byte that belongs to no room */
    _Atomic uint64_t instructions, cycles, refused;
    _Atomic uint32_t image_count; /* places that were ever claimed */
    _Atomic uint32_t notes_used;
    _Atomic uint32_t left;  /* 1: nobody reads any more */
    _Atomic uint32_t began; /* 1: a program runs */
    _Atomic uint32_t asked; /* how often snapshots were asked for */
    struct td_core_desc core, variants[TD_VARIANTS_MAX];
    uint32_t variant_count;
    char notes[NOTES_BYTES];
    struct td_board board;
    struct image images[IMAGES_MAX];
    _Atomic uint32_t window_count;
    struct window windows[WINDOWS_MAX];
};

struct td_mailbox {
    struct header *header;
    size_t size;
    int fd; /* of its maker; -1 else */
    dev_t device;
    ino_t inode;
};

static struct td_mailbox *map_mailbox(int fd, size_t size)
{
    struct stat st;
    struct td_mailbox *mailbox = NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (fstat(fd, &st) < 0) {
        munmap(memory, size);
        return NULL;
    }
    mailbox = td_xcalloc(1, sizeof(*mailbox));
    *mailbox = (struct td_mailbox){
        .header = memory, .size = size, .fd = -1, .device = st.st_dev, .inode = st.st_ino};
    return mailbox;
}

static uint64_t wanted_size(void)
{
    return td_sealed_room(MAILBOX_BYTES, 4);
}

bool td_mailbox_fits(void)
{
    return wanted_size() >= MAILBOX_MIN_BYTES;
}

int td_mailbox_create(struct td_mailbox **ret, struct td_err *err)
{
    const uint64_t size = wanted_size();
    struct td_mailbox *mailbox = NULL;

    if (!td_mailbox_fits())
        return td_fail(
            err, TD_EIO,
            "the limits leave no room for what is modelled (raise ulimit -v, ulimit -f)");
    const int fd = td_sealed_memory("tdrec", size);
    if (fd < 0 || !(mailbox = map_mailbox(fd, size))) {
        const int sys_errno = errno;

        if (fd >= 0)
            close(fd);
        return td_fail_errno(err, TD_EIO, sys_errno, "cannot make memory to share");
    }
    mailbox->fd = fd;
    mailbox->header->size = size;
    mailbox->header->next = (sizeof(struct header) + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN;
    mailbox->header->magic = MAGIC;
    *ret = mailbox;
    return TD_OK;
}

void td_mailbox_set_core(struct td_mailbox *mailbox, const struct td_core_desc *desc)
{
    mailbox->header->core = *desc;
}

void td_mailbox_set_variants(struct td_mailbox *mailbox, const struct td_core_desc *descs,
                             size_t count)
{
    assert(count <= TD_VARIANTS_MAX);
    if (count > 0)
        memcpy(mailbox->header->variants, descs, count * sizeof(*descs));
    mailbox->header->variant_count = (uint32_t)count;
}

size_t td_mailbox_variants(const struct td_mailbox *mailbox, const struct td_core_desc **descs)
{
    const uint32_t count = mailbox->header->variant_count;

    *descs = mailbox->header->variants;
    return count <= TD_VARIANTS_MAX ? count : 0;
}

const struct td_core_desc *td_mailbox_core(const struct td_mailbox *mailbox)
{
    return &mailbox->header->core;
}

char *td_mailbox_name(const struct td_mailbox *mailbox)
{
    const int pid = td_procfs_self();

    return td_xasprintf("/proc/%d/fd/%d", pid ? pid : (int)getpid(), mailbox->fd);
}

struct td_mailbox *td_mailbox_open(const char *name)
{
    struct td_mailbox *mailbox = NULL;
    struct stat st;
    const int fd = open(name, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)MAILBOX_MIN_BYTES)
        mailbox = map_mailbox(fd, (size_t)st.st_size);
    close(fd);
    if (mailbox && (mailbox->header->magic != MAGIC || mailbox->header->size != mailbox->size)) {
        td_mailbox_close(mailbox);
        mailbox = NULL;
    }
    return mailbox;
}

bool td_mailbox_reachable(const char *name)
{
    return faccessat(AT_FDCWD, name, R_OK | W_OK, AT_EACCESS) == 0;
}

bool td_mailbox_watched(const struct td_mailbox *mailbox, const char *name)
{
    struct stat st;

    if (atomic_load(&mailbox->header->left))
        return false;
    /* Without a /proc, or with too little privilege, nothing can be said. */
    if (stat(name, &st) < 0)
        return errno == EACCES || access("/proc/self", F_OK) < 0;
    return st.st_dev == mailbox->device && st.st_ino == mailbox->inode;
}

void td_mailbox_leave(struct td_mailbox *mailbox)
{
    atomic_store(&mailbox->header->left, 1);
}

void td_mailbox_close(struct td_mailbox *mailbox)
{
    if (!mailbox)
        return;
    munmap(mailbox->header, mailbox->size);
    if (mailbox->fd >= 0)
        close(mailbox->fd);
    free(mailbox);
}

struct td_board *td_mailbox_board(struct td_mailbox *mailbox)
{
    return &mailbox->header->board;
}

uint32_t td_mailbox_claim(struct td_mailbox *mailbox)
{
    struct header *h = mailbox->header;

    for (uint32_t i = 0; i < IMAGES_MAX; i++) {
        uint32_t expected = FREE, count = atomic_load(&h->image_count);

        if (!atomic_compare_exchange_strong(&h->images[i].state, &expected, CLAIMED))
            continue;
        atomic_store(&h->images[i].pid, (uint32_t)getpid());
        atomic_store(&h->images[i].answered, 0);
        while (count <= i && !atomic_compare_exchange_weak(&h->image_count, &count, i + 1))
            continue;
        return i;
    }
    atomic_fetch_add(&h->refused, 1);
    return TD_MAILBOX_NONE;
}

/* Room for `size` bytes; an earlier, smaller one is given up. */
static bool make_room(struct td_mailbox *mailbox, struct room *room, size_t size)
{
    struct header *h = mailbox->header;
    uint64_t capacity = ROOM_MIN_BYTES;

    if (room->capacity >= size)
        return true;
    while (capacity < size)
        capacity *= 2;
    if (capacity > mailbox->size - atomic_load(&h->next))
        return false;
    const uint64_t offset = atomic_fetch_add(&h->next, capacity);
    if (offset > mailbox->size || capacity > mailbox->size - offset)
        return false;
    madvise((uint8_t *)h + room->offset, room->capacity, MADV_REMOVE);
    *room = (struct room){.offset = offset, .capacity = capacity};
    return true;
}

bool td_mailbox_put(struct td_mailbox *mailbox, uint32_t image, const void *data, size_t size)
{
    if (image == TD_MAILBOX_NONE)
        return false;
    struct image *i = &mailbox->header->images[image];
    const uint32_t next = atomic_load_explicit(&i->sequence, memory_order_relaxed) + 1;
    struct room *room = &i->rooms[next & 1];

    const uint32_t asked = atomic_load(&mailbox->header->asked);

    if (!make_room(mailbox, room, size)) {
        atomic_store(&i->answered, asked); /* there is nothing to wait for */
        return false;
    }
    memcpy((uint8_t *)mailbox->header + room->offset, data, size);
    room->size = size;
    atomic_store_explicit(&i->sequence, next, memory_order_release);
    atomic_store(&i->answered, asked);
    return true;
}

void td_mailbox_begin(struct td_mailbox *mailbox)
{
    atomic_store_explicit(&mailbox->header->began, 1, memory_order_relaxed);
}

bool td_mailbox_began(const struct td_mailbox *mailbox)
{
    return atomic_load(&mailbox->header->began) != 0;
}

void td_mailbox_end(struct td_mailbox *mailbox, uint32_t image)
{
    if (image != TD_MAILBOX_NONE)
        atomic_store(&mailbox->header->images[image].state, ENDED);
}

void td_mailbox_note(struct td_mailbox *mailbox, const char *text)
{
    struct header *h = mailbox->header;
    const uint32_t len = (uint32_t)strnlen(text, NOTES_BYTES);
    const uint32_t at = atomic_fetch_add(&h->notes_used, len + 1);

    if (at >= NOTES_BYTES || len + 1 > NOTES_BYTES - at)
        return;
    memcpy(h->notes + at, text, len);
    h->notes[at + len] = '\n';
}

void td_mailbox_count(struct td_mailbox *mailbox, uint64_t instructions, uint64_t cycles)
{
    atomic_fetch_add_explicit(&mailbox->header->instructions, instructions, memory_order_relaxed);
    atomic_fetch_add_explicit(&mailbox->header->cycles, cycles, memory_order_relaxed);
}

bool td_mailbox_asked(const struct td_mailbox *mailbox, uint32_t image)
{
    const struct header *h = mailbox->header;

    return image != TD_MAILBOX_NONE && atomic_load_explicit(&h->asked, memory_order_relaxed) !=
                                           atomic_load(&h->images[image].answered);
}

void td_mailbox_ask(struct td_mailbox *mailbox)
{
    atomic_fetch_add(&mailbox->header->asked, 1);
}

uint32_t td_mailbox_images(const struct td_mailbox *mailbox)
{
    const uint32_t count = atomic_load(&mailbox->header->image_count);

    return count < IMAGES_MAX ? count : IMAGES_MAX;
}

struct td_mailbox_snapshot td_mailbox_look(const struct td_mailbox *mailbox, uint32_t image)
{
    const struct image *i = &mailbox->header->images[image];
    /* The state first: the last snapshot comes before the end. */
    const uint32_t state = atomic_load(&i->state);

    return (struct td_mailbox_snapshot){
        .sequence = atomic_load_explicit(&i->sequence, memory_order_acquire),
        .pid = atomic_load(&i->pid),
        .claimed = state != FREE,
        .ended = state == ENDED,
        .answered = atomic_load(&i->answered) == atomic_load(&mailbox->header->asked),
    };
}

bool td_mailbox_get(const struct td_mailbox *mailbox, uint32_t image, struct td_buf *data)
{
    const struct image *i = &mailbox->header->images[image];
    uint32_t before = 0, after = 0;

    /* A room is written again after the other one: what was copied meanwhile is whole as long as
     * no more than one snapshot came. */
    do {
        before = atomic_load_explicit(&i->sequence, memory_order_acquire);
        const struct room room = i->rooms[before & 1];

        if (before == 0 || room.offset > mailbox->size || room.size > mailbox->size - room.offset)
            return false;
        td_buf_clear(data);
        td_buf_bytes(data, (const uint8_t *)mailbox->header + room.offset, room.size);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&i->sequence, memory_order_relaxed);
    } while (after != before);
    return true;
}

void td_mailbox_discard(struct td_mailbox *mailbox, uint32_t image)
{
    struct image *i = &mailbox->header->images[image];

    for (int r = 0; r < 2; r++) {
        if (i->rooms[r].size && i->rooms[r].offset < mailbox->size &&
            i->rooms[r].capacity <= mailbox->size - i->rooms[r].offset)
            madvise((uint8_t *)mailbox->header + i->rooms[r].offset, i->rooms[r].capacity,
                    MADV_REMOVE);
        i->rooms[r].size = 0;
    }
    atomic_store(&i->sequence, 0);
    atomic_store(&i->state, FREE);
}

uint64_t td_mailbox_instructions(const struct td_mailbox *mailbox)
{
    return atomic_load_explicit(&mailbox->header->instructions, memory_order_relaxed);
}

uint64_t td_mailbox_cycles(const struct td_mailbox *mailbox)
{
    return atomic_load_explicit(&mailbox->header->cycles, memory_order_relaxed);
}

uint64_t td_mailbox_refused(const struct td_mailbox *mailbox)
{
    return atomic_load(&mailbox->header->refused);
}

void td_mailbox_window(struct td_mailbox *mailbox, const struct td_mailbox_window *window)
{
    const uint32_t at = atomic_fetch_add(&mailbox->header->window_count, 1);

    if (at >= WINDOWS_MAX)
        return;
    mailbox->header->windows[at].window = *window;
    atomic_store_explicit(&mailbox->header->windows[at].told, 1, memory_order_release);
}

bool td_mailbox_window_at(const struct td_mailbox *mailbox, uint32_t index,
                          struct td_mailbox_window *ret)
{
    const struct window *window = &mailbox->header->windows[index];

    if (index >= WINDOWS_MAX || !atomic_load_explicit(&window->told, memory_order_acquire))
        return false;
    *ret = window->window;
    return true;
}

char *td_mailbox_notes(const struct td_mailbox *mailbox)
{
    const uint32_t used = atomic_load(&mailbox->header->notes_used);

    char *notes = td_xstrndup(mailbox->header->notes, used < NOTES_BYTES ? used : NOTES_BYTES);

    /* A writer that died in the middle leaves zeros. */
    for (uint32_t i = 0; i < used && i < NOTES_BYTES; i++)
        notes[i] = notes[i] ? notes[i] : '\n';
    return notes;
}

/* SPDX-License-Identifier: MIT */
#include "record/sim/share/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"

enum {
    IMAGES_MAX = 16384,
    NOTES_BYTES = 65536,
    ROOM_MIN_BYTES = 65536,
    ROOM_ALIGN = 4096,
};

/* Address space, not memory: only what is written takes room. */
#define SPOOL_BYTES     (UINT64_C(4) << 30)
#define SPOOL_MIN_BYTES (UINT64_C(16) << 20)
#define MAGIC           UINT64_C(0x6c6f6f7073647431)

enum state { FREE, CLAIMED, ENDED };

struct room {
    uint64_t offset, capacity, size;
};

struct image {
    _Atomic uint32_t state;
    /* Room [sequence & 1] holds the piece. The store pairs with the loads in td_spool_look and
     * td_spool_get. */
    _Atomic uint32_t sequence;
    struct room rooms[2];
    _Atomic uint32_t pid, answered; /* answered: what `asked` was when the piece was put */
};

struct header {
    uint64_t magic, size;
    _Atomic uint64_t next; /* the first byte that belongs to no room */
    _Atomic uint64_t instructions, cycles, refused;
    _Atomic uint32_t image_count; /* places that were ever claimed */
    _Atomic uint32_t notes_used;
    _Atomic uint32_t left;  /* 1: nobody reads any more */
    _Atomic uint32_t began; /* 1: a program runs */
    _Atomic uint32_t asked; /* how often pieces were asked for */
    struct td_core_desc core;
    char notes[NOTES_BYTES];
    struct image images[IMAGES_MAX];
};

struct td_spool {
    struct header *header;
    size_t size;
    int fd; /* of its maker; -1 else */
    dev_t device;
    ino_t inode;
};

static struct td_spool *map_spool(int fd, size_t size)
{
    struct stat st;
    struct td_spool *spool = NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (fstat(fd, &st) < 0) {
        munmap(memory, size);
        return NULL;
    }
    spool = td_xcalloc(1, sizeof(*spool));
    *spool = (struct td_spool){
        .header = memory, .size = size, .fd = -1, .device = st.st_dev, .inode = st.st_ino};
    return spool;
}

/* As much as the limits leave. */
static uint64_t wanted_size(void)
{
    uint64_t size = SPOOL_BYTES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size)
        size = limit.rlim_cur;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / 4 < size)
        size = limit.rlim_cur / 4;
    return size / ROOM_ALIGN * ROOM_ALIGN;
}

bool td_spool_fits(void)
{
    return wanted_size() >= SPOOL_MIN_BYTES;
}

int td_spool_create(struct td_spool **ret, struct td_err *err)
{
    const uint64_t size = wanted_size();
    struct td_spool *spool = NULL;

    if (!td_spool_fits())
        return td_fail(
            err, TD_EIO,
            "the limits leave no room for what is modelled (raise ulimit -v, ulimit -f)");
    const int fd = memfd_create("tdrec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* The program has the descriptor too: were it to cut the memory, our reads would end us. */
    if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        !(spool = map_spool(fd, size))) {
        const int sys_errno = errno;

        if (fd >= 0)
            close(fd);
        return td_fail_errno(err, TD_EIO, sys_errno, "cannot make memory to share");
    }
    spool->fd = fd;
    spool->header->size = size;
    spool->header->next = (sizeof(struct header) + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN;
    spool->header->magic = MAGIC;
    *ret = spool;
    return TD_OK;
}

void td_spool_set_core(struct td_spool *spool, const struct td_core_desc *desc)
{
    spool->header->core = *desc;
}

const struct td_core_desc *td_spool_core(const struct td_spool *spool)
{
    return &spool->header->core;
}

char *td_spool_name(const struct td_spool *spool)
{
    const int pid = td_procfs_self();

    return td_xasprintf("/proc/%d/fd/%d", pid ? pid : (int)getpid(), spool->fd);
}

struct td_spool *td_spool_open(const char *name)
{
    struct td_spool *spool = NULL;
    struct stat st;
    const int fd = open(name, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && st.st_size >= (off_t)SPOOL_MIN_BYTES)
        spool = map_spool(fd, (size_t)st.st_size);
    close(fd);
    if (spool && (spool->header->magic != MAGIC || spool->header->size != spool->size)) {
        td_spool_close(spool);
        spool = NULL;
    }
    return spool;
}

bool td_spool_reachable(const char *name)
{
    return faccessat(AT_FDCWD, name, R_OK | W_OK, AT_EACCESS) == 0;
}

bool td_spool_watched(const struct td_spool *spool, const char *name)
{
    struct stat st;

    if (atomic_load(&spool->header->left))
        return false;
    /* Without a /proc, or with too little privilege, nothing can be said. */
    if (stat(name, &st) < 0)
        return errno == EACCES || access("/proc/self", F_OK) < 0;
    return st.st_dev == spool->device && st.st_ino == spool->inode;
}

void td_spool_leave(struct td_spool *spool)
{
    atomic_store(&spool->header->left, 1);
}

void td_spool_close(struct td_spool *spool)
{
    if (!spool)
        return;
    munmap(spool->header, spool->size);
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool);
}

uint32_t td_spool_claim(struct td_spool *spool)
{
    struct header *h = spool->header;

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
    return TD_SPOOL_NONE;
}

/* Room for `size` bytes; an earlier, smaller one is given up. */
static bool make_room(struct td_spool *spool, struct room *room, size_t size)
{
    struct header *h = spool->header;
    uint64_t capacity = ROOM_MIN_BYTES;

    if (room->capacity >= size)
        return true;
    while (capacity < size)
        capacity *= 2;
    if (capacity > spool->size - atomic_load(&h->next))
        return false;
    const uint64_t offset = atomic_fetch_add(&h->next, capacity);
    if (offset > spool->size || capacity > spool->size - offset)
        return false;
    madvise((uint8_t *)h + room->offset, room->capacity, MADV_REMOVE);
    *room = (struct room){.offset = offset, .capacity = capacity};
    return true;
}

bool td_spool_put(struct td_spool *spool, uint32_t image, const void *data, size_t size)
{
    if (image == TD_SPOOL_NONE)
        return false;
    struct image *i = &spool->header->images[image];
    const uint32_t next = atomic_load_explicit(&i->sequence, memory_order_relaxed) + 1;
    struct room *room = &i->rooms[next & 1];

    const uint32_t asked = atomic_load(&spool->header->asked);

    if (!make_room(spool, room, size)) {
        atomic_store(&i->answered, asked); /* there is nothing to wait for */
        return false;
    }
    memcpy((uint8_t *)spool->header + room->offset, data, size);
    room->size = size;
    atomic_store_explicit(&i->sequence, next, memory_order_release);
    atomic_store(&i->answered, asked);
    return true;
}

void td_spool_begin(struct td_spool *spool)
{
    atomic_store_explicit(&spool->header->began, 1, memory_order_relaxed);
}

bool td_spool_began(const struct td_spool *spool)
{
    return atomic_load(&spool->header->began) != 0;
}

void td_spool_end(struct td_spool *spool, uint32_t image)
{
    if (image != TD_SPOOL_NONE)
        atomic_store(&spool->header->images[image].state, ENDED);
}

void td_spool_note(struct td_spool *spool, const char *text)
{
    struct header *h = spool->header;
    const uint32_t len = (uint32_t)strnlen(text, NOTES_BYTES);
    const uint32_t at = atomic_fetch_add(&h->notes_used, len + 1);

    if (at >= NOTES_BYTES || len + 1 > NOTES_BYTES - at)
        return;
    memcpy(h->notes + at, text, len);
    h->notes[at + len] = '\n';
}

void td_spool_count(struct td_spool *spool, uint64_t instructions, uint64_t cycles)
{
    atomic_fetch_add_explicit(&spool->header->instructions, instructions, memory_order_relaxed);
    atomic_fetch_add_explicit(&spool->header->cycles, cycles, memory_order_relaxed);
}

bool td_spool_asked(const struct td_spool *spool, uint32_t image)
{
    const struct header *h = spool->header;

    return image != TD_SPOOL_NONE && atomic_load_explicit(&h->asked, memory_order_relaxed) !=
                                         atomic_load(&h->images[image].answered);
}

void td_spool_ask(struct td_spool *spool)
{
    atomic_fetch_add(&spool->header->asked, 1);
}

uint32_t td_spool_images(const struct td_spool *spool)
{
    const uint32_t count = atomic_load(&spool->header->image_count);

    return count < IMAGES_MAX ? count : IMAGES_MAX;
}

struct td_spool_piece td_spool_look(const struct td_spool *spool, uint32_t image)
{
    const struct image *i = &spool->header->images[image];
    /* The state first: the last piece comes before the end. */
    const uint32_t state = atomic_load(&i->state);

    return (struct td_spool_piece){
        .sequence = atomic_load_explicit(&i->sequence, memory_order_acquire),
        .pid = atomic_load(&i->pid),
        .claimed = state != FREE,
        .ended = state == ENDED,
        .answered = atomic_load(&i->answered) == atomic_load(&spool->header->asked),
    };
}

bool td_spool_get(const struct td_spool *spool, uint32_t image, struct td_buf *data)
{
    const struct image *i = &spool->header->images[image];
    uint32_t before = 0, after = 0;

    /* A room is written again after the other one: what was copied meanwhile is whole as long as
     * no more than one piece came. */
    do {
        before = atomic_load_explicit(&i->sequence, memory_order_acquire);
        const struct room room = i->rooms[before & 1];

        if (before == 0 || room.offset > spool->size || room.size > spool->size - room.offset)
            return false;
        td_buf_clear(data);
        td_buf_bytes(data, (const uint8_t *)spool->header + room.offset, room.size);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&i->sequence, memory_order_relaxed);
    } while (after != before);
    return true;
}

void td_spool_discard(struct td_spool *spool, uint32_t image)
{
    struct image *i = &spool->header->images[image];

    for (int r = 0; r < 2; r++) {
        if (i->rooms[r].size && i->rooms[r].offset < spool->size &&
            i->rooms[r].capacity <= spool->size - i->rooms[r].offset)
            madvise((uint8_t *)spool->header + i->rooms[r].offset, i->rooms[r].capacity,
                    MADV_REMOVE);
        i->rooms[r].size = 0;
    }
    atomic_store(&i->sequence, 0);
    atomic_store(&i->state, FREE);
}

uint64_t td_spool_instructions(const struct td_spool *spool)
{
    return atomic_load_explicit(&spool->header->instructions, memory_order_relaxed);
}

uint64_t td_spool_cycles(const struct td_spool *spool)
{
    return atomic_load_explicit(&spool->header->cycles, memory_order_relaxed);
}

uint64_t td_spool_refused(const struct td_spool *spool)
{
    return atomic_load(&spool->header->refused);
}

char *td_spool_notes(const struct td_spool *spool)
{
    const uint32_t used = atomic_load(&spool->header->notes_used);

    char *notes = td_xstrndup(spool->header->notes, used < NOTES_BYTES ? used : NOTES_BYTES);

    /* A writer that died in the middle leaves zeros. */
    for (uint32_t i = 0; i < used && i < NOTES_BYTES; i++)
        notes[i] = notes[i] ? notes[i] : '\n';
    return notes;
}

/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/quirks.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "record/sim/model/decode/isa.h"
#include "record/sim/qemu/guest_memory.h"
#include "record/sim/qemu/api.h"

/* QEMU 7.2 (plugins/core.c, qemu_plugin_vcpu_init_hook) enters each CPU into a table under its
 * number, as key and value alike, and aborts when the number is there. A forked child still has
 * those of its parent's other threads, so its own second thread would end it, with or without a
 * plugin. The plugin is preloaded, so that QEMU finds this one. */

typedef int td_insert_fn(void *table, void *key, void *value);

TD_QEMU_EXPORT int g_hash_table_insert(void *table, void *key, void *value);

/* GLib's; true when the key was new. The new entry has taken the place of the old one in any case.
 */
int g_hash_table_insert(void *table, void *key, void *value)
{
    void *symbol = dlsym(RTLD_NEXT, "g_hash_table_insert");
    td_insert_fn *insert = NULL;

    memcpy(&insert, &symbol, sizeof(insert));
    return insert(table, key, value) || key == value;
}

/*
 * QEMU 7.2 (linux-user/i386/signal.c, get_sigframe) puts the frame of a signal 8 bytes off where
 * the ABI wants the stack when a function is entered, and ends a handler that keeps an aligned
 * vector on its stack by SIGSEGV. So the program's handlers are entered by way of the code below.
 * It moves what is before the floating-point state, of which the frame says where it is, down by 8
 * bytes: all that looks for the frame looks there relative to the stack pointer. Of a QEMU that
 * aligns it nothing is moved.
 */
enum {
    PAGE_BYTES = 4096,
    HANDLER_DEFAULT = 0,
    HANDLER_IGNORE = 1,
};
/* Away from where programs and the emulator's mappings for them begin. */
#define ENTRY_HINT UINT64_C(0x3f00000000)

static const uint8_t entry_code[] = {
    0x40, 0xf6, 0xc4, 0x08,                   /* test $8, %spl */
    0x75, 0x2c,                               /* jne 0x32 */
    0x49, 0x89, 0xf8,                         /* mov %rdi, %r8: the signal */
    0x49, 0x89, 0xf1,                         /* mov %rsi, %r9: siginfo, the last to be moved */
    0x48, 0x8d, 0x8e, 0x80, 0x00, 0x00, 0x00, /* lea 128(%rsi), %rcx: its end */
    0x48, 0x29, 0xe1,                         /* sub %rsp, %rcx */
    0x48, 0xc1, 0xe9, 0x03,                   /* shr $3, %rcx */
    0x48, 0x89, 0xe6,                         /* mov %rsp, %rsi */
    0x48, 0x83, 0xec, 0x08,                   /* sub $8, %rsp */
    0x48, 0x89, 0xe7,                         /* mov %rsp, %rdi */
    0xf3, 0x48, 0xa5,                         /* rep movsq */
    0x4c, 0x89, 0xc7,                         /* mov %r8, %rdi */
    0x49, 0x8d, 0x71, 0xf8,                   /* lea -8(%r9), %rsi */
    0x48, 0x83, 0xea, 0x08,                   /* sub $8, %rdx: ucontext */
    0x4c, 0x8d, 0x1d, 0xc7, 0x0f, 0x00, 0x00, /* 0x32: lea 4096 behind the start, %r11 */
    0x41, 0xff, 0x24, 0xfb,                   /* jmp *(%r11, %rdi, 8) */
};
_Static_assert(TD_QUIRKS_SIGNALS * sizeof(uint64_t) <= PAGE_BYTES, "handlers fit the second page");

typedef int64_t td_target_mmap_fn(uint64_t start, uint64_t size, int protection, int flags, int fd,
                                  uint64_t offset);

/* The handler of a signal, in the program's memory. */
static uint64_t *handler_at(uint64_t entry, unsigned number)
{
    return (uint64_t *)(uintptr_t)(entry + PAGE_BYTES) + number;
}

/* The emulator must know of the mapping: it runs no code elsewhere. Of two threads that come here
 * at once, one makes it for nothing. */
static uint64_t make_entry(struct td_quirks *quirks)
{
    void *symbol = dlsym(RTLD_DEFAULT, "target_mmap");
    td_target_mmap_fn *map = NULL;
    uint64_t known = quirks->entry;

    if (known || quirks->refused)
        return known;
    memcpy(&map, &symbol, sizeof(map));
    const int64_t at =
        map ? map(ENTRY_HINT, (uint64_t)PAGE_BYTES * 2, PROT_READ | PROT_WRITE | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            : -1;
    if (at <= 0 || at % PAGE_BYTES) {
        quirks->refused = true;
        return 0;
    }
    memcpy((void *)(uintptr_t)at, entry_code, sizeof(entry_code));
    return atomic_compare_exchange_strong(&quirks->entry, &known, (uint64_t)at) ? (uint64_t)at
                                                                                : known;
}

/* Makes the call enter the handler by way of the entry. False when it has none, or it cannot be. */
static bool redirect(struct td_quirks *quirks, struct td_quirks_action *action, unsigned number)
{
    if (!action->act || !td_guest_read(&action->handler, action->act, sizeof(action->handler)) ||
        action->handler == HANDLER_DEFAULT || action->handler == HANDLER_IGNORE)
        return false;
    uint64_t entry = make_entry(quirks);
    if (!entry)
        return false;
    action->before = *handler_at(entry, number);
    if (!td_guest_write(action->act, &entry, sizeof(entry)))
        return false;
    *handler_at(entry, number) = action->handler;
    return true;
}

/* The kernel's struct sigaction begins with the handler. */
void td_quirks_before_action(struct td_quirks *quirks, struct td_quirks_action *action,
                             const uint64_t arguments[3])
{
    const uint64_t number = arguments[0];

    *action = (struct td_quirks_action){.act = arguments[1], .oact = arguments[2]};
    if (number == 0 || number >= TD_QUIRKS_SIGNALS)
        return;
    if (quirks->entry)
        action->before = *handler_at(quirks->entry, (unsigned)number);
    if (!redirect(quirks, action, (unsigned)number))
        action->act = 0;
    if (quirks->entry)
        action->signal = (unsigned)number;
}

/* The program sees its own handlers. */
void td_quirks_after_action(struct td_quirks *quirks, struct td_quirks_action *action,
                            int64_t result)
{
    uint64_t handler = 0;

    if (action->signal == 0)
        return;
    if (action->act && action->act != action->oact)
        td_guest_write(action->act, &action->handler, sizeof(action->handler));
    if (action->act && result < 0)
        *handler_at(quirks->entry, action->signal) = action->before;
    if (result == 0 && action->oact && td_guest_read(&handler, action->oact, sizeof(handler)) &&
        handler == quirks->entry)
        td_guest_write(action->oact, &action->before, sizeof(action->before));
    action->signal = 0;
}

/*
 * QEMU sees that code changes by what is written where it lies. Compilers at run time that map one
 * file twice, to write here and execute there, would go on in what was there before. They can do
 * with memory that is both, where a system forbids the other: so does this one.
 */
bool td_quirks_cannot_map(const uint64_t arguments[5])
{
    if (!(arguments[2] & PROT_EXEC) || (arguments[3] & MAP_TYPE) == MAP_PRIVATE ||
        arguments[3] & MAP_ANONYMOUS)
        return false;
    const int mode = fcntl((int)arguments[4], F_GETFL);
    return mode >= 0 && (mode & O_ACCMODE) == O_RDWR;
}

void td_quirks_before_map(struct td_quirks *quirks, const uint64_t arguments[5])
{
    if (td_quirks_cannot_map(arguments))
        quirks->unmapped = (int)arguments[4] + 1;
}

void td_quirks_after_map(struct td_quirks *quirks)
{
    quirks->unmapped = 0;
}

bool td_quirks_refuses_map(const struct td_quirks *quirks, int flags, int fd)
{
    const int unmapped = quirks->unmapped;

    return unmapped && unmapped == fd + 1 && (flags & MAP_TYPE) != MAP_PRIVATE;
}

/* QEMU 7.2 (accel/tcg/translate-all.c, page_set_flags) has a record of each page that is mapped,
 * touched or not: 256 GB take 1.6 GB and seconds. Programs that reserve addresses by the terabyte
 * are told that there are none, as a system with a limit would; most do with fewer. */
#define MAPPED_MAX (UINT64_C(512) << 30)

bool td_quirks_is_too_large(uint64_t size)
{
    return size > MAPPED_MAX;
}

/* QEMU 7.2 (target/i386/tcg/translate.c, advance_pc): an instruction that goes over the end of a
 * page begins the next block. It is found while it is read, when the plugin has been given its
 * first bytes as the last instruction of this one. Of AVX-512, which QEMU lacks, it reads the first
 * byte only. */
bool td_quirks_is_taken_back(const struct td_guest *guest, uint64_t address)
{
    const size_t room = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
    uint8_t bytes[TD_X86_INSTRUCTION_BYTES];

    return guest->machine == EM_X86_64 && room < sizeof(bytes) &&
           td_guest_read(bytes, address, room) && bytes[0] != TD_X86_EVEX_PREFIX &&
           td_decode_x86_is_cut(bytes, room);
}

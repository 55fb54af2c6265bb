/* SPDX-License-Identifier: MIT */
#include "record/live/repair.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/search.h"
#include "base/text.h"
#include "symbolize/elf/elf.h"

/* Of the clone's stack below what it uses, what may be written; it is put back. */
#define RED_ZONE    128
#define STACK_BYTES 8192
/* How long one function, and all of the repair, may take: far more than they need, since the clone
 * may have to wait for a CPU. */
#define CALL_NS   UINT64_C(500000000)
#define REPAIR_NS UINT64_C(3000000000)
/* How far from its begin a thread is thought to be in a function, whose size is not known. */
#define FUNCTION_BYTES 4096
/* Steps to the return of a function, a copy of some 300 KB: 100 ms. */
#define STEPS 50000

/* Of a module's data, the most that is searched. */
#define DATA_BYTES (UINT64_C(4) << 20)

/* sys/platform/x86.h: struct cpuid_feature has four words as CPUID gives them, then the same four
 * as they are used. Leaf 7, EBX: ERMS, RTM (whose versions ask by xtest whether they are in a
 * transaction), AVX512F, DQ, IFMA, CD, BW, VL. */
#define LEAF       7
#define LEAF_WORDS 4
#define EBX        1
#define EBX_WITHDRAWN \
    (1u << 9 | 1u << 11 | 1u << 16 | 1u << 17 | 1u << 21 | 1u << 28 | 1u << 30 | 1u << 31)

#if defined(__x86_64__)

#    include <cpuid.h>

/* A function that decides, and what it decides. */
struct choice {
    uint64_t decider, before, after;
};

struct repair {
    pid_t clone;
    int memory; /* /proc/PID/mem, which writes where the program may not */
    struct td_live_registers registers;
    struct choice *choices;
    size_t choice_count, choice_cap;
    uint64_t *slots; /* addresses of words that may lead to a function */
    size_t slot_count, slot_cap;
    uint64_t active; /* the word of what is used of EBX, in the C library's data; 0: not found */
    uint64_t end_ns;
    bool shares; /* memory that it may write, with the program or others */
    bool shares_stack;
    bool spoiled;  /* the clone can call nothing any more */
    uint64_t bias; /* of the module that is read */
};

/* ---- the clone ---- */

static bool read_clone(const struct repair *repair, uint64_t at, void *data, size_t size)
{
    return pread(repair->memory, data, size, (off_t)at) == (ssize_t)size;
}

static bool write_clone(const struct repair *repair, uint64_t at, const void *data, size_t size)
{
    return pwrite(repair->memory, data, size, (off_t)at) == (ssize_t)size;
}

static bool get_registers(const struct repair *repair, struct td_live_registers *registers)
{
    struct iovec part = {.iov_base = &registers->set, .iov_len = sizeof(registers->set)};

    return ptrace(PTRACE_GETREGSET, repair->clone, NT_PRSTATUS, &part) == 0;
}

static bool set_registers(const struct repair *repair, const struct td_live_registers *registers)
{
    struct td_live_registers copy = *registers;
    struct iovec part = {.iov_base = &copy.set, .iov_len = sizeof(copy.set)};

    return ptrace(PTRACE_SETREGSET, repair->clone, NT_PRSTATUS, &part) == 0;
}

/* Lets the clone run until it stops; -1: it has ended. One that runs too long is interrupted. The
 * caller's timer interrupts waitpid. */
static int run_clone(struct repair *repair, int request)
{
    const uint64_t end_ns = td_clock_ns() + CALL_NS;
    int status = 0;

    if (ptrace((enum __ptrace_request)request, repair->clone, 0, 0) < 0)
        return -1;
    while (waitpid(repair->clone, &status, __WALL) != repair->clone) {
        if (errno != EINTR)
            return -1;
        if (td_clock_ns() > end_ns)
            ptrace(PTRACE_INTERRUPT, repair->clone, 0, 0);
    }
    return WIFSTOPPED(status) ? status : -1;
}

/* The function's result; 0: it did something else than return. */
static uint64_t call_clone(struct repair *repair, uint64_t function, uint64_t argument)
{
    struct td_live_registers registers = repair->registers;
    uint64_t word = 0;

    if (repair->spoiled || td_clock_ns() > repair->end_ns)
        return 0;
    td_isa_set_function(&registers, function, argument, td_isa_sp(&repair->registers), &word);
    if (!write_clone(repair, td_isa_sp(&registers), &word, sizeof(word)) ||
        !set_registers(repair, &registers))
        return 0;
    const int status = run_clone(repair, PTRACE_SYSCALL); /* a system call would be seen first */
    repair->spoiled = status < 0 || WSTOPSIG(status) != SIGSEGV ||
                      !get_registers(repair, &registers) || td_isa_pc(&registers) != 0;
    return repair->spoiled ? 0 : (uint64_t)td_isa_result(&registers);
}

/* ---- what there is to repair ---- */

static void add_choice(struct repair *repair, uint64_t decider)
{
    repair->choices = td_grow(repair->choices, &repair->choice_cap, repair->choice_count + 1,
                              sizeof(*repair->choices));
    repair->choices[repair->choice_count++] = (struct choice){.decider = decider};
}

static void take_symbol(void *ctx, const struct td_elf_symbol *symbol)
{
    struct repair *repair = ctx;

    if (symbol->type == STT_GNU_IFUNC)
        add_choice(repair, repair->bias + symbol->value);
}

static void take_relocations(struct repair *repair, struct td_bytes bytes)
{
    struct td_rd rd = td_rd_init(bytes.data, bytes.size, 0);

    while (td_rd_left(&rd) >= sizeof(Elf64_Rela)) {
        const uint64_t offset = td_rd_u64(&rd), info = td_rd_u64(&rd), addend = td_rd_u64(&rd);
        const uint32_t type = ELF64_R_TYPE(info);

        if (type == R_X86_64_IRELATIVE)
            add_choice(repair, repair->bias + addend);
        if (type != R_X86_64_IRELATIVE && type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
            continue;
        repair->slots = td_grow(repair->slots, &repair->slot_cap, repair->slot_count + 1,
                                sizeof(*repair->slots));
        repair->slots[repair->slot_count++] = repair->bias + offset;
    }
}

static void take_module(struct repair *repair, struct td_elf *elf)
{
    for (size_t i = 0; i < td_elf_section_count(elf); i++) {
        const struct td_elf_section *section = td_elf_section_at(elf, i);
        struct td_bytes bytes;

        if (section->type == SHT_DYNSYM)
            td_elf_symbols(elf, section, take_symbol, repair);
        else if (section->type == SHT_RELA && (section->flags & SHF_ALLOC) &&
                 td_elf_section_bytes(elf, section, &bytes, NULL) == TD_OK)
            take_relocations(repair, bytes);
    }
}

/* The trampoline of lazy binding saves vectors by XSAVEC in 0x40(%rsp): FXSAVE has the same length
 * and, there, room. */
static void patch_trampoline(const struct repair *repair, const struct td_map_line *line)
{
    static const uint8_t save[] = {0x0f, 0xc7, 0x64, 0x24, 0x40}, /* xsavec 0x40(%rsp) */
        restore[] = {0x0f, 0xae, 0x6c, 0x24, 0x40},               /* xrstor 0x40(%rsp) */
        fxsave[] = {0x0f, 0xae, 0x44, 0x24, 0x40}, fxrstor[] = {0x0f, 0xae, 0x4c, 0x24, 0x40};
    const size_t size = (size_t)(line->end - line->start);
    uint8_t *text = td_xalloc(size);
    const uint8_t *at = text, *const end = text + size;

    if (read_clone(repair, line->start, text, size)) {
        while ((at = memmem(at, (size_t)(end - at), save, sizeof(save)))) {
            const uint8_t *back = memmem(at, (size_t)(end - at), restore, sizeof(restore));

            if (!back || back - at > 256)
                break;
            write_clone(repair, line->start + (uint64_t)(at - text), fxsave, sizeof(fxsave));
            write_clone(repair, line->start + (uint64_t)(back - text), fxrstor, sizeof(fxrstor));
            at = back;
        }
    }
    free(text);
}

static void read_module(struct repair *repair, const struct td_map_line *line, const char *path)
{
    struct td_elf *elf = NULL;
    struct stat st;
    uint64_t address = 0;
    char *there = td_xasprintf("/proc/%d/root%s", repair->clone, path); /* as the program sees it */
    int fd = open(there, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    free(there);
    if (fd < 0)
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == line->inode &&
        td_elf_open_fd(&elf, path, fd, NULL) == TD_OK && td_elf_machine(elf) == EM_X86_64 &&
        td_elf_is_64(elf) && td_elf_vaddr(elf, line->offset, &address)) {
        repair->bias = line->start - address;
        take_module(repair, elf);
    }
    td_elf_free(elf);
    if (fd >= 0)
        close(fd);
}

/* The C library's list of what the processor has: what CPUID says of the leaf, followed by what is
 * used of it. It lies in the data of the dynamic linker, or of a program that is linked statically,
 * which has no symbol for it. */
static void find_features(struct repair *repair, const struct td_map_line *line)
{
    const uint64_t size = line->end - line->start;
    uint32_t leaf[LEAF_WORDS] = {0}, used[LEAF_WORDS];

    /* Shared memory is the program's too, or a device's. */
    if (repair->active != 0 || line->executable || !line->readable || line->shared ||
        size > DATA_BYTES ||
        !__get_cpuid_count(LEAF, 0, &leaf[0], &leaf[EBX], &leaf[2], &leaf[3]) || !leaf[EBX])
        return;
    uint8_t *data = td_xalloc(size);
    const uint8_t *const end = data + size;
    const uint8_t *at = read_clone(repair, line->start, data, size) ? data : NULL;
    while (at && (at = memmem(at, (size_t)(end - at), leaf, sizeof(leaf)))) {
        at += sizeof(leaf);
        if ((size_t)(end - at) < sizeof(used))
            break;
        memcpy(used, at, sizeof(used));
        if ((used[EBX] & ~leaf[EBX]) != 0 || used[EBX] == 0)
            continue;
        repair->active = line->start + (uint64_t)(at - data) + EBX * sizeof(uint32_t);
        break;
    }
    free(data);
}

static bool is_linker(const char *path)
{
    return strncmp(strrchr(path, '/') + 1, "ld-", 3) == 0;
}

static void search_features(struct repair *repair, const char *text, bool linker)
{
    struct td_map_line line;
    uint64_t end = 0; /* of a file's mapping: its zeros follow */

    while (repair->active == 0 && td_map_line_next(&text, &line)) {
        const bool file = line.path_len > 0 && line.path[0] == '/';

        if (file || (!linker && line.path_len == 0 && line.start == end)) {
            char *path = td_xstrndup(line.path, line.path_len);
            if (!linker || is_linker(path))
                find_features(repair, &line);
            free(path);
            end = line.end;
        }
    }
}

static void note_shared(struct repair *repair, const struct td_map_line *line)
{
    const uint64_t sp = td_isa_sp(&repair->registers);

    if (!line->shared || !line->writable)
        return;
    repair->shares = true;
    if (sp > line->start && sp - RED_ZONE - STACK_BYTES < line->end)
        repair->shares_stack = true;
}

static void read_modules(struct repair *repair)
{
    char name[64], *last = td_xstrdup("");
    struct td_map_line line;

    snprintf(name, sizeof(name), "/proc/%d/maps", repair->clone);
    char *text = td_procfs_text(NULL, name);
    repair->shares = repair->shares_stack = !text; /* not known */
    for (const char *at = text; at && td_map_line_next(&at, &line);) {
        note_shared(repair, &line);
        if (line.path_len == 0 || line.path[0] != '/' || !line.executable)
            continue;
        char *path = td_xstrndup(line.path, line.path_len);
        if (is_linker(path))
            patch_trampoline(repair, &line);
        if (strcmp(path, last) != 0)
            read_module(repair, &line, path);
        free(last);
        last = path;
    }
    if (text)
        search_features(repair, text, true);
    if (text)
        search_features(repair, text, false);
    free(last);
    free(text);
}

/* ---- repairing ---- */

/* Takes what the emulator lacks out of the C library's list of what the processor has. */
static bool withdraw(const struct repair *repair)
{
    uint32_t used = 0;

    if (repair->active == 0 || !read_clone(repair, repair->active, &used, sizeof(used)) ||
        !(used & EBX_WITHDRAWN))
        return false;
    used &= ~EBX_WITHDRAWN;
    return write_clone(repair, repair->active, &used, sizeof(used));
}

static int by_before(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;

    return a->before < b->before ? -1 : a->before > b->before;
}

/* The last choice whose function begins at or before the address; NULL: none. */
static const struct choice *find_choice(const struct repair *repair, uint64_t address)
{
    size_t low = 0;

    TD_SEARCH(low, repair->choice_count, i, repair->choices[i].before <= address)
    return low > 0 ? &repair->choices[low - 1] : NULL;
}

static bool has_changed(const struct choice *choice)
{
    return choice && choice->before && choice->after && choice->before != choice->after;
}

static size_t redirect(const struct repair *repair)
{
    size_t places = 0;

    for (size_t i = 0; i < repair->slot_count; i++) {
        uint64_t value = 0;

        if (!read_clone(repair, repair->slots[i], &value, sizeof(value)))
            continue;
        const struct choice *choice = find_choice(repair, value);
        if (has_changed(choice) && choice->before == value)
            places += write_clone(repair, repair->slots[i], &choice->after, sizeof(value));
    }
    return places;
}

/* A thread inside a version that is not used any more: to its return, instruction by instruction,
 * unless it calls the kernel. Not where memory is shared: a copy into it would be made once more,
 * over what the program has written there since. */
static bool leave_function(struct repair *repair)
{
    const uint64_t pc = td_isa_pc(&repair->registers), sp = td_isa_sp(&repair->registers);
    const struct choice *choice = find_choice(repair, pc);
    struct td_live_registers registers;
    uint8_t bytes[8] = {0};

    if (repair->shares || !has_changed(choice) || pc - choice->before >= FUNCTION_BYTES ||
        !set_registers(repair, &repair->registers))
        return false;
    for (int i = 0; i < STEPS && td_clock_ns() < repair->end_ns; i++) {
        if (!get_registers(repair, &registers) ||
            !read_clone(repair, td_isa_pc(&registers), bytes, td_isa_call_size) ||
            memcmp(bytes, td_isa_call_instruction, td_isa_call_size) == 0)
            break;
        if (td_isa_sp(&registers) > sp)
            return true;
        const int status = run_clone(repair, PTRACE_SINGLESTEP);
        if (status < 0 || WSTOPSIG(status) != SIGTRAP)
            break;
    }
    return false;
}

static struct td_live_repair run(struct repair *repair)
{
    struct td_live_repair result = {0};
    const uint64_t stack = td_isa_sp(&repair->registers) - RED_ZONE - STACK_BYTES;
    uint8_t *saved = td_xalloc(STACK_BYTES);

    read_modules(repair);
    const bool has_stack = !repair->shares_stack && read_clone(repair, stack, saved, STACK_BYTES);
    for (size_t i = 0; has_stack && i < repair->choice_count; i++)
        repair->choices[i].before = call_clone(repair, repair->choices[i].decider, 0);
    if (has_stack && withdraw(repair)) {
        for (size_t i = 0; i < repair->choice_count; i++)
            repair->choices[i].after = call_clone(repair, repair->choices[i].decider, 0);
        qsort(repair->choices, repair->choice_count, sizeof(*repair->choices), by_before);
        result.places = redirect(repair);
    }
    if (has_stack)
        write_clone(repair, stack, saved, STACK_BYTES);
    result.moved = result.places > 0 && leave_function(repair);
    if (!result.moved)
        set_registers(repair, &repair->registers);
    free(saved);
    return result;
}

struct td_live_repair td_live_repair(pid_t clone, const struct td_live_registers *registers)
{
    struct repair repair = {
        .clone = clone, .registers = *registers, .end_ns = td_clock_ns() + REPAIR_NS};
    struct td_live_repair result = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", clone);
    repair.memory = open(path, O_RDWR | O_CLOEXEC);
    if (repair.memory >= 0) {
        result = run(&repair);
        close(repair.memory);
    }
    free(repair.choices);
    free(repair.slots);
    return result;
}

#else

struct td_live_repair td_live_repair(pid_t clone, const struct td_live_registers *registers)
{
    (void)clone;
    (void)registers;
    return (struct td_live_repair){0};
}

#endif

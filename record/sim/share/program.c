/* SPDX-License-Identifier: MIT */
#include "record/sim/share/program.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "symbolize/elf/elf.h"

enum {
    SCRIPT_LINE_BYTES = 256, /* BINPRM_BUF_SIZE */
    HEAD_BYTES = SCRIPT_LINE_BYTES,
    NOTE_BYTES_MAX = 4096, /* of properties; linkers write one of 32 */
    /* GNU_PROPERTY_X86_ISA_1_V4 (System V psABI for x86-64, linux gABI extensions) */
    ISA_NEEDED_V4 = 1 << 3,
};

#define NT_PROPERTY         5 /* NT_GNU_PROPERTY_TYPE_0 */
#define PROPERTY_ISA_NEEDED UINT32_C(0xc0008002)

const char *td_program_about(enum td_program_kind kind)
{
    static const char *const texts[] = {
#define X(symbol, about, help) [TD_PROGRAM_##symbol] = (about),
        TD_PROGRAM_KINDS(X)
#undef X
    };

    return texts[kind];
}

const char *td_program_help(enum td_program_kind kind)
{
    static const char *const texts[] = {
#define X(symbol, about, help) [TD_PROGRAM_##symbol] = (help),
        TD_PROGRAM_KINDS(X)
#undef X
    };

    return texts[kind];
}

static bool has_privileges(const struct stat *st, const char *path)
{
    return st->st_mode & S_ISUID || (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ||
           getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Whether the path leads over a descriptor of ours that exec closes. The kernel has the file open
 * by then; an emulator has not. */
static bool is_closing(const char *path)
{
    static const char *const folders[] = {"/proc/self/fd/", "/dev/fd/"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(folders); i++) {
        const size_t len = strlen(folders[i]);
        if (strncmp(path, folders[i], len) == 0) {
            const int flags = fcntl((int)strtol(path + len, NULL, 10), F_GETFD);
            return flags >= 0 && flags & FD_CLOEXEC;
        }
    }
    return false;
}

/* The first bytes of an executable file. */
static enum td_program_kind read_head(const char *path, uint8_t *head, size_t *size)
{
    struct stat st;
    enum td_program_kind kind = TD_PROGRAM_MISSING;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *size = 0;
    if (fd < 0)
        return kind;
    if (is_closing(path)) {
        close(fd);
        return TD_PROGRAM_CLOSING;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) {
        const ssize_t got = read(fd, head, HEAD_BYTES);

        *size = got > 0 ? (size_t)got : 0;
        kind = has_privileges(&st, path) ? TD_PROGRAM_PRIVILEGED : TD_PROGRAM_OTHER;
    }
    close(fd);
    return kind;
}

/* One property: type, size, data padded to 8 bytes. */
static bool needs_v4(const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);

    while (td_rd_left(&rd) >= 8) {
        const uint32_t type = td_rd_u32(&rd);
        const uint32_t length = td_rd_u32(&rd);

        if (type == PROPERTY_ISA_NEEDED && length >= 4)
            return td_rd_u32(&rd) & ISA_NEEDED_V4;
        td_rd_bytes(&rd, ((size_t)length + 7) & ~(size_t)7);
    }
    return false;
}

/* A note: name size, data size, type, "GNU", data. */
static bool note_needs_v4(const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    const uint32_t name_size = td_rd_u32(&rd);
    const uint32_t data_size = td_rd_u32(&rd);
    const uint32_t type = td_rd_u32(&rd);

    td_rd_bytes(&rd, 4);
    return td_rd_ok(&rd) && name_size == 4 && type == NT_PROPERTY && data_size <= td_rd_left(&rd) &&
           needs_v4(td_rd_bytes(&rd, data_size), data_size);
}

static bool elf_needs_v4(const struct td_elf *elf)
{
    struct td_bytes note = {0};

    return td_elf_segment_bytes(elf, PT_GNU_PROPERTY, NOTE_BYTES_MAX, &note, NULL) == TD_OK &&
           note_needs_v4(note.data, note.size);
}

static bool is_elf(const uint8_t *head, size_t size)
{
    return size >= sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0;
}

/* The path of the dynamic loader, in `elf`; NULL when the program is static. */
static const char *find_loader(const struct td_elf *elf)
{
    struct td_bytes path = {0};

    if (td_elf_segment_bytes(elf, PT_INTERP, PATH_MAX, &path, NULL) != TD_OK || path.size < 2 ||
        path.data[path.size - 1] != '\0')
        return NULL;
    return (const char *)path.data;
}

/* Finds the libraries of a program for another processor than this machine's: where they are
 * installed beside this machine's, where the emulator's own variable says, or where the cross
 * packages put them. False when they are nowhere. */
static bool find_libraries(struct td_program *program, const struct td_elf *elf)
{
    const char *loader = find_loader(elf), *prefix = getenv("QEMU_LD_PREFIX");

    if (!loader || program->guest == td_guest_native() || access(loader, R_OK) == 0)
        return true;
    char *under = td_xasprintf("%s%s", prefix ? prefix : program->guest->sysroot, loader);
    const bool found = access(under, R_OK) == 0;
    if (found && !prefix)
        program->sysroot = program->guest->sysroot;
    free(under);
    return found;
}

static enum td_program_kind kind_of(struct td_program *program, const struct td_elf *elf)
{
    if (!td_elf_is_64(elf))
        return TD_PROGRAM_FOREIGN;
    program->guest = td_guest_by_machine(td_elf_machine(elf));
    if (!program->guest)
        return TD_PROGRAM_FOREIGN;
    if (td_elf_machine(elf) == EM_X86_64 && elf_needs_v4(elf))
        return TD_PROGRAM_AVX512;
    return find_libraries(program, elf) ? TD_PROGRAM_EMULATED : TD_PROGRAM_LOADER;
}

/* A file that begins as ELF files do; what its headers do not say is what the kernel refuses. */
static enum td_program_kind look_at_elf(struct td_program *program)
{
    const int fd = open(program->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum td_program_kind kind = TD_PROGRAM_FOREIGN;
    struct td_elf *elf = NULL;

    if (fd < 0)
        return TD_PROGRAM_MISSING;
    if (td_elf_open_fd(&elf, program->file, fd, NULL) == TD_OK)
        kind = kind_of(program, elf);
    td_elf_free(elf);
    close(fd);
    return kind;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* "#!interpreter argument": both newly allocated; *argument may be NULL. */
static bool read_script(const char *head, size_t size, char **interpreter, char **argument)
{
    size_t end = 2, from = 2;

    if (size < 3 || head[0] != '#' || head[1] != '!')
        return false;
    size = size < SCRIPT_LINE_BYTES ? size : SCRIPT_LINE_BYTES;
    while (end < size && head[end] != '\n')
        end++;
    while (end > from && is_blank(head[end - 1]))
        end--;
    while (from < end && is_blank(head[from]))
        from++;
    size_t word = from;
    while (word < end && !is_blank(head[word]))
        word++;
    if (word == from)
        return false;
    *interpreter = td_xstrndup(head + from, word - from);
    while (word < end && is_blank(head[word]))
        word++;
    *argument = word < end ? td_xstrndup(head + word, end - word) : NULL;
    return true;
}

void td_program_look(struct td_program *program, const char *path)
{
    *program = (struct td_program){.file = td_xstrdup(path)};
    for (int depth = 0; depth <= TD_SCRIPT_DEPTH_MAX; depth++) {
        uint8_t head[HEAD_BYTES];
        char *interpreter = NULL, *argument = NULL;
        size_t size = 0;

        program->kind = read_head(program->file, head, &size);
        if (program->kind == TD_PROGRAM_OTHER && is_elf(head, size))
            program->kind = look_at_elf(program);
        /* The kernel ignores a script's own privileges. */
        if (!read_script((const char *)head, size, &interpreter, &argument))
            return;
        /* [interpreter, argument, script] replaces the script: push in reverse. */
        program->words[program->word_count++] = program->file;
        if (argument)
            program->words[program->word_count++] = argument;
        program->file = interpreter;
        program->kind = TD_PROGRAM_OTHER;
    }
}

void td_program_release(struct td_program *program)
{
    for (size_t i = 0; i < program->word_count; i++)
        free(program->words[i]);
    free(program->file);
    *program = (struct td_program){.word_count = 0};
}

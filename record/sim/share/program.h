/* SPDX-License-Identifier: MIT */
/* What executing a file would run, and whether the emulator can do that instead of the kernel. */
#ifndef TD_RECORD_SIM_SHARE_PROGRAM_H
#define TD_RECORD_SIM_SHARE_PROGRAM_H

#include <stddef.h>

#include "record/sim/share/guest.h"

/* "#!" lines may name a script in turn: the limit is 5 (fs/exec.c, exec_binprm). */
#define TD_SCRIPT_DEPTH_MAX 5

/* Why a file is not emulated: X(symbol, what it is, as in "'FILE' is ...", what helps) */
#define TD_PROGRAM_KINDS(X)                                                                \
    X(EMULATED, "a program that can be emulated", "")                                      \
    X(MISSING, "not there, or not executable", "correct the #! line, or install it")       \
    X(PRIVILEGED, "setuid, setgid or has capabilities, which an emulator cannot give it",  \
      "profile a plain copy of it, or use --source clock")                                 \
    X(FOREIGN, "a program for a processor that is neither x86-64 nor aarch64",             \
      "use --source clock")                                                                \
    X(LOADER, "a program for another processor, whose dynamic loader is not there",        \
      "install that processor's C library, or link the program statically")                \
    X(AVX512, "built for AVX-512 (x86-64-v4), which the emulated processor does not have", \
      "build it with -march=x86-64-v3, or use --source clock")                             \
    X(CLOSING, "a descriptor that is closed on exec, before an emulator could open it",    \
      "use --source clock")                                                                \
    X(OTHER, "no program and no script with a #! line",                                    \
      "begin a shell script with #!/bin/sh, or use --source clock")

enum td_program_kind {
#define X(symbol, about, help) TD_PROGRAM_##symbol,
    TD_PROGRAM_KINDS(X)
#undef X
};

const char *td_program_about(enum td_program_kind kind);
const char *td_program_help(enum td_program_kind kind);

/* The ELF file that executing a path would run, and the words that "#!" lines put between it and
 * the arguments. */
struct td_program {
    enum td_program_kind kind;
    char *file; /* the ELF file; for a kind that is not emulated, the file it is about */
    const struct td_guest *guest; /* its processor; NULL when that is not known */
    const char *sysroot; /* where the emulator must look for its libraries; NULL: nowhere else */
    char *words[2 * (TD_SCRIPT_DEPTH_MAX + 1)]; /* in reverse order */
    size_t word_count;
};

/* Always fills *program; release it. */
void td_program_look(struct td_program *program, const char *path);
void td_program_release(struct td_program *program);

#endif

/* SPDX-License-Identifier: MIT */
/* The marks of tdprof/region.h: what a program and tdrec must agree on, and nothing else. */
#ifndef TDPROF_REGION_MARKS_H
#define TDPROF_REGION_MARKS_H

/* Bytes of a name that are looked at; longer names that begin with the same ones are one name. */
#define TDPROF_NAME_MAX 96

/*
 * A mark is one load from the name, in an instruction that no compiler makes, and a jump to what
 * follows, which ends the emulator's block there. It changes nothing: any core runs it.
 *
 *   x86-64    testb $0x7d, MARK(%rdi)      with %rdi = name - MARK
 *   aarch64   ldrb wzr, [x0, #MARK]        with x0 = name - MARK
 */
#define TDPROF_MARK_BYTE      0x7d
#define TDPROF_MARK_BEGIN_X86 0x54647062
#define TDPROF_MARK_END_X86   0x54647065
#define TDPROF_MARK_BEGIN_A64 0xd7b
#define TDPROF_MARK_END_A64   0xd7e

#endif

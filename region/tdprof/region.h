/* SPDX-License-Identifier: MIT */
/*
 * tdprof/region.h: marks parts of a program, for tdrec. C and C++; nothing to link.
 *
 *   #include <tdprof/region.h>
 *
 *   tdprof_region_begin("assemble");
 *   ...
 *   tdprof_region_end("assemble");
 *
 * `tdrec ./app` records how often each region ran and what it cost, and `tdreport regions` shows
 * it: on the modelled core exactly (`--source sim`), natively by the thread's counters. Without
 * tdrec a mark is two loads, a jump and a branch. Regions may stand in one another; each thread has
 * its own. An end of a region that is not the innermost ends those in it too; an end of one that
 * the thread has not begun does nothing, and the report says so. The first 96 bytes of a name
 * count; it must be readable until the call returns. NULL is no region.
 *
 * On other systems than 64-bit Linux on x86-64 and aarch64, and with TDPROF_REGION_OFF defined, the
 * functions do nothing at all.
 */
#ifndef TDPROF_REGION_H
#define TDPROF_REGION_H

#include <stdint.h>

#include "region_marks.h"

#if !defined(TDPROF_REGION_OFF) && defined(__linux__) && defined(__LP64__) && defined(__GNUC__)
#    if defined(__x86_64__)
#        define TDPROF_MARK_(mark, name)                                             \
            do {                                                                     \
                uintptr_t tdprof_name_ = (uintptr_t)(name)-TDPROF_MARK_##mark##_X86; \
                __asm__ volatile("testb %1, %c2(%%rdi)\n\tjmp 1f\n1:"                \
                                 :                                                   \
                                 : "D"(tdprof_name_), "i"(TDPROF_MARK_BYTE),         \
                                   "i"(TDPROF_MARK_##mark##_X86)                     \
                                 : "cc", "memory");                                  \
            } while (0)
#    elif defined(__aarch64__)
#        define TDPROF_MARK_(mark, name)                                            \
            do {                                                                    \
                register uintptr_t tdprof_name_ __asm__("x0") =                     \
                    (uintptr_t)(name)-TDPROF_MARK_##mark##_A64;                     \
                __asm__ volatile("ldrb wzr, [x0, %1]\n\tb 1f\n1:"                   \
                                 :                                                  \
                                 : "r"(tdprof_name_), "i"(TDPROF_MARK_##mark##_A64) \
                                 : "memory");                                       \
            } while (0)
#    endif
#endif
#ifdef TDPROF_MARK_
#    include "region_native.h"
#    define TDPROF_NATIVE_(name, ends)                                                            \
        do {                                                                                      \
            if (__builtin_expect(__atomic_load_n(&tdprof1_state, __ATOMIC_RELAXED) != TDPROF_OFF, \
                                 0))                                                              \
                tdprof1_mark(name, ends);                                                         \
        } while (0)
#else
#    define TDPROF_MARK_(mark, name)   ((void)(name))
#    define TDPROF_NATIVE_(name, ends) ((void)0)
#endif

/* Begins a region in this thread. */
static inline void tdprof_region_begin(const char *name)
{
    if (!name)
        return;
    TDPROF_NATIVE_(name, 0);
    TDPROF_MARK_(BEGIN, name);
}

/* Ends the innermost region of this name in this thread. */
static inline void tdprof_region_end(const char *name)
{
    if (!name)
        return;
    TDPROF_MARK_(END, name);
    TDPROF_NATIVE_(name, 1);
}

#ifdef __cplusplus
namespace tdprof
{
/* A region until the end of its scope: tdprof::region r("assemble"); */
class region
{
  public:
    explicit region(const char *name) : name_(name)
    {
        tdprof_region_begin(name_);
    }
    ~region()
    {
        tdprof_region_end(name_);
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

  private:
    const char *name_;
};
} // namespace tdprof
#endif

#endif

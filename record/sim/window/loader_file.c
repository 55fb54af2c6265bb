/* SPDX-License-Identifier: MIT */
#include "record/sim/window/loader_file.h"

#if defined(TD_LOADER_FILE)

extern const uint8_t td_loader_file_begin[], td_loader_file_end[];

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl td_loader_file_begin\n"
        ".hidden td_loader_file_begin\n"
        "td_loader_file_begin: .incbin \"" TD_LOADER_FILE "\"\n"
        ".globl td_loader_file_end\n"
        ".hidden td_loader_file_end\n"
        "td_loader_file_end: .byte 0\n"
        ".popsection\n");

const uint8_t *td_loader_file(size_t *size)
{
    *size = (size_t)(td_loader_file_end - td_loader_file_begin);
    return td_loader_file_begin;
}

#else

const uint8_t *td_loader_file(size_t *size)
{
    static const uint8_t none[1];

    *size = 0;
    return none;
}

#endif

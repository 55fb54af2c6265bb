/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/fault.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/sim/model/decode/isa.h"

static size_t read_code(uint64_t pc, uint8_t *bytes, size_t size)
{
    const struct iovec local = {.iov_base = bytes, .iov_len = size};
    const struct iovec remote = {.iov_base = (void *)(uintptr_t)pc, .iov_len = size};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

    if (got > 0)
        return (size_t)got;
    /* Not over the end of a page, behind which there may be nothing. */
    const size_t room = 4096 - (size_t)(pc & 4095);
    return room < size ? read_code(pc, bytes, room) : 0;
}

/* "app+0x1139" */
static void name_place(uint64_t pc, const struct td_snapshot_maps *maps, char *text, size_t size)
{
    const struct td_range *range = td_range_set_find(&maps->code.now, pc);
    const char *path = range ? maps->paths[range->value] : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;

    if (path)
        snprintf(text, size, "%s+0x%" PRIx64, slash ? slash + 1 : path,
                 pc - range->start + range->offset);
    else
        snprintf(text, size, "0x%" PRIx64, pc);
}

/* What the instruction is, and what helps. False when it is illegal on every processor. */
static bool describe_x86(const uint8_t *bytes, size_t size, uint64_t pc, char *text,
                         size_t text_size)
{
    char name[128];

    if (!td_decode_x86_text(bytes, size, pc, name, sizeof(name)))
        return false;
    snprintf(text, text_size, "%s'%s'",
             bytes[0] == TD_X86_EVEX_PREFIX ? "the AVX-512 instruction " : "", name);
    return true;
}

/* Of what the emulated processor has not, SVE and SME are groups of their own (C4.1). */
static bool describe_a64(const uint8_t *bytes, size_t size, char *text, size_t text_size)
{
    struct td_rd rd = td_rd_init(bytes, size, 0);
    const uint32_t word = td_rd_u32(&rd), group = word >> 25 & 15;

    if (!td_rd_ok(&rd) || !(group == 2 || (group == 0 && word >> 31)))
        return false;
    snprintf(text, text_size, "the %s instruction %08x", group == 2 ? "SVE" : "SME", word);
    return true;
}

char *td_fault_text(const struct td_guest *guest, const char *process, uint64_t pc,
                    const struct td_snapshot_maps *maps)
{
    const bool x86 = strcmp(guest->name, "x86_64") == 0;
    uint8_t bytes[TD_X86_INSTRUCTION_BYTES] = {0};
    const size_t size = read_code(pc, bytes, sizeof(bytes));
    char place[300], text[192];

    if (size == 0 || !(x86 ? describe_x86(bytes, size, pc, text, sizeof(text))
                           : describe_a64(bytes, size, text, sizeof(text))))
        return NULL;
    name_place(pc, maps, place, sizeof(place));
    return td_xasprintf("%s was ended by %s at %s, which the emulated processor does not have: "
                        "build with %s, or use --source clock",
                        process ? process : "a program", text, place,
                        x86 ? "-march=x86-64-v3" : "-march=armv8.2-a (no +sve, no -mcpu=native)");
}

bool td_fault_misread(const struct td_guest *guest, const uint8_t *bytes, size_t size)
{
    /* VEX of three bytes (X, inverted, is bit 6 of the second), map 0F38, 90 to 93, ModRM, SIB. */
    return size >= 6 && bytes[0] == 0xc4 && (bytes[1] & 0x5f) == 0x42 &&
           (bytes[3] & 0xfc) == 0x90 && (bytes[4] & 7) == 4 && (bytes[5] >> 3 & 7) == 4 &&
           strcmp(guest->name, "x86_64") == 0;
}

char *td_fault_misread_text(const char *process, uint64_t pc, const struct td_snapshot_maps *maps)
{
    char place[300];

    name_place(pc, maps, place, sizeof(place));
    return td_xasprintf("%s may have computed something else than natively: QEMU 7.2 ignores the "
                        "index of a gather by xmm4 or ymm4, as at %s",
                        process ? process : "a program", place);
}

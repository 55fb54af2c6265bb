/* SPDX-License-Identifier: MIT */
#include "record/live/vdso.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "symbolize/elf/elf.h"

struct patch {
    uint8_t *image;
    size_t size;
};

static const struct {
    const char *name;
    uint16_t number;
} functions[] = {
#ifdef __x86_64__
    {"__vdso_clock_gettime", SYS_clock_gettime},
    {"__vdso_clock_getres", SYS_clock_getres},
    {"__vdso_gettimeofday", SYS_gettimeofday},
    {"__vdso_time", SYS_time},
    {"__vdso_getcpu", SYS_getcpu},
    {"__vdso_getrandom", 318},
#else
    {"__kernel_clock_gettime", SYS_clock_gettime},
    {"__kernel_clock_getres", SYS_clock_getres},
    {"__kernel_gettimeofday", SYS_gettimeofday},
    {"__kernel_getrandom", 278},
#endif
};

/* The function's body: the number into its register, the call, the return. */
static size_t body_of(uint8_t body[16], uint16_t number)
{
#ifdef __x86_64__
    const uint8_t code[] = {0xb8,
                            (uint8_t)number,
                            (uint8_t)(number >> 8),
                            0,
                            0, /* mov eax */
                            0x0f,
                            0x05,
                            0xc3};
#else
    const uint32_t move = 0xd2800008u | (uint32_t)number << 5; /* mov x8 */
    const uint8_t code[] = {(uint8_t)move,
                            (uint8_t)(move >> 8),
                            (uint8_t)(move >> 16),
                            (uint8_t)(move >> 24),
                            0x01,
                            0x00,
                            0x00,
                            0xd4, /* svc #0 */
                            0xc0,
                            0x03,
                            0x5f,
                            0xd6}; /* ret */
#endif
    memcpy(body, code, sizeof(code));
    return sizeof(code);
}

static void patch_symbol(void *ctx, const struct td_elf_symbol *symbol)
{
    const struct patch *patch = ctx;
    uint8_t body[16];

    for (size_t i = 0; i < TD_ARRAY_SIZE(functions); i++) {
        const size_t size = body_of(body, functions[i].number);

        if (strcmp(symbol->name, functions[i].name) == 0 && symbol->size >= size &&
            symbol->value <= patch->size && size <= patch->size - symbol->value)
            memcpy(patch->image + symbol->value, body, size);
    }
}

void td_live_vdso_patch(uint8_t *image, size_t size)
{
    struct patch patch = {.image = image, .size = size};
    uint8_t *copy = td_xalloc(size);
    struct td_elf *elf = NULL;

    memcpy(copy, image, size); /* symbols are read from what does not change */
    const struct td_bytes bytes = {.data = copy, .size = size};
    if (td_elf_parse(&elf, "[vdso]", bytes, NULL) == TD_OK)
        td_elf_symbols(elf, td_elf_section(elf, ".dynsym"), patch_symbol, &patch);
    td_elf_free(elf);
    free(copy);
}

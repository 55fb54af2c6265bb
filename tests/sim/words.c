/* SPDX-License-Identifier: MIT */
/* Reads A64 words in hexadecimal, one a line; writes what each was taken for: the word, "U" when it
 * is not known, "L" a load, "S" a store, "P" a prefetch, and the kind of branch. */
#include <stdio.h>
#include <stdlib.h>

#include "record/sim/model/decode/decode.h"

int main(void)
{
    struct td_core_desc desc;
    struct td_ports ports;
    char line[64];

    if (td_core_desc_builtin(&desc, "neoverse-n2", NULL) != TD_OK)
        return 1;
    td_ports_init(&ports, &desc);
    struct td_decoder *decoder = td_decoder_new(&desc, &ports);
    while (fgets(line, sizeof(line), stdin)) {
        const unsigned long word = strtoul(line, NULL, 16);
        const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                                  (uint8_t)(word >> 24)};
        struct td_insn insn;

        td_decode(decoder, bytes, sizeof(bytes), 0, &insn);
        printf("%08lx %c%c%c%c %d\n", word, insn.unknown ? 'U' : '-',
               insn.uop.flags & TD_UOP_LOAD ? 'L' : '-', insn.uop.flags & TD_UOP_STORE ? 'S' : '-',
               insn.uop.flags & TD_UOP_PREFETCH ? 'P' : '-', (int)insn.branch);
    }
    td_decoder_free(decoder);
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "report/view/table/mostly.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ONE_BYTES 40
#define HALF      0.5 /* what holds so much is not left out */

/* "fetch lat 12" */
static void one_text(char *dst, size_t size, enum td_tma_node node, double share)
{
    snprintf(dst, size, "%s %.0f", td_tma_info(node)->name, 100 * share);
    for (char *c = dst; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

const char *td_mostly_text(char *dst, size_t size, unsigned width, const struct td_measure *measure,
                           const uint64_t *values, td_tma_set thin)
{
    const struct td_mostly mostly = td_mostly_of(measure, values, thin);
    const bool useful = mostly.len > 1 && mostly.at[mostly.len - 1].share >= HALF;
    char last[ONE_BYTES] = "", one[ONE_BYTES];
    size_t used = 0;

    dst[0] = '\0';
    if (useful)
        one_text(last, sizeof(last), mostly.at[mostly.len - 1].node,
                 mostly.at[mostly.len - 1].share);
    for (size_t i = 0; i < mostly.len; i++) {
        const bool is_last = useful && i + 1 == mostly.len;
        const size_t kept = useful && !is_last ? 2 + strlen(last) : 0;

        one_text(one, sizeof(one), mostly.at[i].node, mostly.at[i].share);
        if (!is_last && used + kept > 0 && used + 2 * (used > 0) + strlen(one) + kept > width)
            continue;
        used += (size_t)snprintf(dst + used, size - used, "%s%s", used ? ", " : "", one);
    }
    return dst;
}

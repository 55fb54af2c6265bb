/* SPDX-License-Identifier: MIT */
/* Writes the section CATEGORIES of tdreport(1) from the tables of which the report is made. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/query/advice.h"
#include "report/query/figures/tree.h"

void td_out_of_memory(void)
{
    abort();
}

/* scdoc takes '_' and '*' for marks. */
static void put(const char *text)
{
    for (; *text; text++) {
        if (*text == '_' || *text == '*' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void put_node(enum td_tma_node node)
{
    const struct td_tma_info *info = td_tma_info(node);
    const struct td_advice *advice = td_advice_of(node);
    const double threshold = td_tree_threshold(node);

    putchar('*');
    put(info->id);
    putchar('*');
    if (info->parent != TD_NODE_NONE) {
        fputs(", part of ", stdout);
        put(td_tma_info(info->parent)->id);
    }
    if (!isnan(threshold))
        printf("; high above %.0f %%", 100 * threshold);
    fputs("\n\tMeaning: ", stdout);
    put(info->meaning);
    fputs(". ", stdout);
    put(advice->causes);
    fputs(" _Try:_ ", stdout);
    put(advice->try_this);
    fputs(". ", stdout);
    put(advice->details);
    fputs("\n\n", stdout);
}

int main(void)
{
    fputs(
        "# CATEGORIES\n\n"
        "A slot is one chance per cycle to begin one operation: a core that takes 6 per cycle has "
        "6 slots. Each slot either did useful work or was lost, and to one cause: these are the "
        "categories, a tree of up to five levels. Shares are of all slots. A category is _high_ "
        "above "
        "its threshold, when all that it is part of is high. A core's description may have a "
        "threshold of its own. *tdreport explain* _CATEGORY_ says the same, and which events "
        "count it on this machine.\n\n",
        stdout);
    for (enum td_tma_node n = td_tree_next(TD_NODE_NONE); n != TD_NODE_NONE; n = td_tree_next(n))
        put_node(n);
    return 0;
}

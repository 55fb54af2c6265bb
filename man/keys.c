/* SPDX-License-Identifier: MIT */
/* Prints the keys of `tdreport tui` for its manual page, from their table. */
#include <stdio.h>

#include "report/tui/keys.h"

int main(void)
{
    for (const struct td_tui_key *key = td_tui_keys; key->keys; key++)
        printf("*%s*\n\t%s\n\n", key->keys, key->does);
    return 0;
}

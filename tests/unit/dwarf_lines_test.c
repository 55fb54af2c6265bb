/* SPDX-License-Identifier: MIT */
/* Line programs of this program itself, against libdw's tables of them, at every row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "formats/model.h"
#include "symbolize/answers.h"
#include "symbolize/dwarf/scan.h"

/* The rows of a unit, as libdw sorts them. */
struct rows {
    Dwarf_Lines *lines;
    size_t count;
};

static uint64_t address_of(const struct rows *rows, size_t i)
{
    Dwarf_Addr address = 0;

    assert_int_equal(dwarf_lineaddr(dwarf_onesrcline(rows->lines, i), &address), 0);
    return address;
}

/* Whether libdw has a row of this place and address. Paths are compared from their last folder on:
 * libdw leaves "./" and folders of version 5 as they are. */
static bool has_row(const struct rows *rows, const struct td_query *q, const char *path)
{
    const char *base = strrchr(path, '/');

    for (size_t i = 0; i < rows->count; i++) {
        Dwarf_Line *line = dwarf_onesrcline(rows->lines, i);
        int number = 0, column = 0;

        if (address_of(rows, i) != q->address)
            continue;
        assert_int_equal(dwarf_lineno(line, &number), 0);
        assert_int_equal(dwarf_linecol(line, &column), 0);
        const char *file = dwarf_linesrc(line, NULL, NULL);
        const char *end = strrchr(file, '/');
        if ((uint32_t)number == q->line && (uint32_t)column == q->column && base && end &&
            strcmp(base, end) == 0)
            return true;
    }
    return false;
}

static int by_address(const void *a, const void *b)
{
    const struct td_query *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* Asks at each row's address. Returns how many got a line. */
static size_t check_unit(struct td_dwarf_unit *unit, struct td_answers *answers)
{
    const struct td_ranges code = {.at = &(struct td_range){.low = 1, .high = UINT64_MAX},
                                   .len = 1};
    struct rows rows = {.lines = NULL};
    size_t found = 0;

    if (dwarf_getsrclines(&unit->die.die, &rows.lines, &rows.count) != 0 || rows.count == 0)
        return 0;
    struct td_query *queries = calloc(rows.count, sizeof(*queries));
    assert_non_null(queries);
    for (size_t i = 0; i < rows.count; i++)
        queries[i] = (struct td_query){.address = address_of(&rows, i), .scope = TD_NONE};
    qsort(queries, rows.count, sizeof(*queries), by_address);
    assert_true(td_dwarf_unit_lines(unit, &code, queries, rows.count));
    for (size_t i = 0; i < rows.count; i++) {
        const uint32_t path = td_dwarf_file_path(answers, unit, queries[i].file);

        if (!queries[i].has_line)
            continue;
        assert_true(has_row(&rows, &queries[i], td_intern_get(answers->strings, path)));
        found++;
    }
    free(queries);
    return found;
}

static void every_row_is_one_of_libdw(void **state)
{
    struct td_elf *elf = NULL;
    struct td_dwarf *dwarf = NULL;
    struct td_answers answers;
    size_t units = 0, found = 0;

    (void)state;
    assert_int_equal(td_elf_open(&elf, "/proc/self/exe", NULL), TD_OK);
    assert_int_equal(td_dwarf_open(&dwarf, elf, NULL), TD_OK);
    td_answers_init(&answers);
    for (size_t i = 0; i < dwarf->unit_count && units < 20; i++) {
        const size_t of_unit = check_unit(dwarf->units[i], &answers);

        units += of_unit > 0;
        found += of_unit;
    }
    assert_true(found > 500);
    td_answers_release(&answers);
    td_dwarf_free(dwarf);
    td_elf_free(elf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_one_of_libdw),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/dwarf.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/model.h"
#include "symbolize/dwarf/line_table.h"

void td_dwarf_damaged(struct td_dwarf *dwarf, uint64_t offset)
{
    if (dwarf->damaged_at == UINT64_MAX)
        dwarf->damaged_at = offset;
}

bool td_dwarf_work(struct td_dwarf *dwarf, uint64_t steps)
{
    if (steps > dwarf->work_left) {
        dwarf->work_left = 0;
        return false;
    }
    dwarf->work_left -= steps;
    return true;
}

/* C has none; of a language that is not named, or new, it does no harm to look for them. */
static bool has_namespaces(struct td_die *die)
{
    uint64_t language = 0;

    (void)td_die_uint(die, TD_SLOT_LANGUAGE, &language);
    return language != DW_LANG_C && language != DW_LANG_C89 && language != DW_LANG_C99 &&
           language != DW_LANG_C11 && language != DW_LANG_Mips_Assembler;
}

static struct td_dwarf_unit *make_unit(struct td_dwarf *dwarf, Dwarf_CU *cu)
{
    struct td_dwarf_unit *unit = td_xcalloc(1, sizeof(*unit));
    Dwarf_Die die;

    unit->dwarf = dwarf;
    unit->damaged = dwarf_cu_info(cu, &unit->version, &unit->type, &die, NULL, &unit->dwo_id,
                                  &unit->address_size, NULL) != 0 ||
                    !td_die_read(&unit->die, &die);
    if (unit->damaged)
        return unit;
    unit->offset = dwarf_dieoffset(&die);
    unit->qualified = has_namespaces(&unit->die);
    return unit;
}

/* Every unit is made once. */
static struct td_dwarf_unit *meet(struct td_dwarf *dwarf, Dwarf_CU *cu)
{
    bool added = false;
    const uint32_t i =
        *td_map_put(&dwarf->by_cu, (uint64_t)(uintptr_t)cu, 0, (uint32_t)dwarf->met_count, &added);

    if (!added)
        return dwarf->met[i];
    dwarf->met = td_grow(dwarf->met, &dwarf->met_cap, dwarf->met_count + 1, sizeof(*dwarf->met));
    dwarf->met[dwarf->met_count++] = make_unit(dwarf, cu);
    return dwarf->met[i];
}

struct td_dwarf_unit *td_dwarf_unit_of(struct td_dwarf *dwarf, const Dwarf_Die *die)
{
    struct td_dwarf_unit *unit = die->cu ? meet(dwarf, die->cu) : NULL;

    return unit && !unit->damaged ? unit : NULL;
}

/* Sound files stay below two steps for each byte. */
static uint64_t work_allowed(Elf *elf)
{
    uint64_t bytes = 1 << 20;
    size_t size = 0;

    if (elf_rawfile(elf, &size))
        bytes += size;
    return 64 * bytes;
}

static void list_units(struct td_dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    size_t cap = 0;
    int rc = 0;

    while ((rc = dwarf_get_units(dwarf->dw, cu, &cu, NULL, NULL, NULL, NULL)) == 0) {
        struct td_dwarf_unit *unit = meet(dwarf, cu);

        if (unit->damaged)
            td_dwarf_damaged(dwarf, 0);
        if (dwarf->unit_count > 0)
            dwarf->units[dwarf->unit_count - 1]->size_bytes =
                unit->offset - dwarf->units[dwarf->unit_count - 1]->offset;
        dwarf->units = td_grow(dwarf->units, &cap, dwarf->unit_count + 1, sizeof(*dwarf->units));
        dwarf->units[dwarf->unit_count++] = unit;
    }
    if (rc < 0)
        td_dwarf_damaged(dwarf,
                         dwarf->unit_count ? dwarf->units[dwarf->unit_count - 1]->offset : 0);
}

static int open_elf(struct td_dwarf **ret, Elf *elf, bool own, struct td_err *err)
{
    Dwarf *dw = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;

    if (!dw) {
        if (own)
            elf_end(elf);
        return td_fail(err, TD_EFORMAT, "damaged debug information: %s", dwarf_errmsg(-1));
    }
    struct td_dwarf *dwarf = td_xcalloc(1, sizeof(*dwarf));
    dwarf->dw = dw;
    dwarf->own_elf = own ? elf : NULL;
    dwarf->damaged_at = UINT64_MAX;
    dwarf->work_left = work_allowed(elf);
    list_units(dwarf);
    *ret = dwarf;
    return TD_OK;
}

int td_dwarf_open_image(struct td_dwarf **ret, struct td_bytes bytes, struct td_err *err)
{
    return open_elf(ret, elf_memory((char *)(uintptr_t)bytes.data, bytes.size), true, err);
}

int td_dwarf_open(struct td_dwarf **ret, struct td_elf *elf, struct td_err *err)
{
    struct td_dwarf_image image = {.count = 0};
    int rc = td_dwarf_image_of(&image, elf, err);

    if (rc == TD_OK && image.count == 0)
        return open_elf(ret, td_elf_handle(elf), false, err);
    if (rc == TD_OK)
        rc = td_dwarf_open_image(ret, td_dwarf_image_finish(&image), err);
    if (rc == TD_OK)
        (*ret)->image = image;
    else
        td_dwarf_image_release(&image);
    return rc;
}

void td_dwarf_free(struct td_dwarf *dwarf)
{
    if (!dwarf)
        return;
    for (size_t i = 0; i < dwarf->met_count; i++) {
        free(dwarf->met[i]->spaces);
        free(dwarf->met[i]->abbrevs);
        free(dwarf->met[i]);
    }
    for (size_t i = 0; i < dwarf->line_table_count; i++)
        td_line_table_free(dwarf->line_tables[i]);
    free(dwarf->line_tables);
    free(dwarf->met);
    free(dwarf->units);
    td_map_release(&dwarf->by_cu);
    td_map_release(&dwarf->line_table_ids);
    dwarf_end(dwarf->dw);
    elf_end(dwarf->own_elf);
    td_dwarf_image_release(&dwarf->image);
    free(dwarf);
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/line_table.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"

/* Of one entry of a table of version 5: path, directory, time, size, checksum, source text. */
#define CONTENTS_MAX 32

/* What the entries of a table of version 5 are made of. */
struct layout {
    uint64_t content[CONTENTS_MAX], form[CONTENTS_MAX];
    size_t count;
};

static void add_directory(struct td_line_table *table, const char *name)
{
    table->directories = td_grow(table->directories, &table->directory_cap,
                                 table->directory_count + 1, sizeof(*table->directories));
    table->directories[table->directory_count++] = name;
}

static void add_file(struct td_line_table *table, const char *name, uint64_t directory)
{
    table->files =
        td_grow(table->files, &table->file_cap, table->file_count + 1, sizeof(*table->files));
    table->files[table->file_count++] =
        (struct td_line_file){.name = name, .directory = directory, .path = TD_NONE};
}

/* Versions 2 to 4: directory 0 is the unit's own, files count from 1. */
static void read_old_tables(struct td_cur *cur, struct td_line_table *table)
{
    const char *name = NULL;

    add_directory(table, table->comp_dir);
    while ((name = td_cur_string(cur)) && name[0] != '\0')
        add_directory(table, name);
    add_file(table, NULL, 0);
    while ((name = td_cur_string(cur)) && name[0] != '\0') {
        add_file(table, name, td_cur_uleb(cur));
        (void)td_cur_uleb(cur); /* time of change */
        (void)td_cur_uleb(cur); /* size */
    }
}

static void read_layout(struct td_cur *cur, struct layout *layout)
{
    layout->count = td_cur_u8(cur);
    if (layout->count > CONTENTS_MAX) {
        layout->count = 0;
        cur->bad = true;
    }
    for (size_t i = 0; i < layout->count; i++) {
        layout->content[i] = td_cur_uleb(cur);
        layout->form[i] = td_cur_uleb(cur);
    }
}

/* A value of the forms that these tables may have (DWARF 5, 6.2.4.1): a number, or a text. */
static uint64_t read_value(struct td_cur *cur, const struct td_line_table *table,
                           const struct td_line_sections *s, uint64_t form, const char **text)
{
    *text = NULL;
    switch (form) {
    case DW_FORM_string: *text = td_cur_string(cur); return 0;
    case DW_FORM_line_strp:
        *text = td_bytes_string(s->line_str, td_cur_uint(cur, table->offset_size));
        return 0;
    case DW_FORM_strp:
        *text = td_bytes_string(s->str, td_cur_uint(cur, table->offset_size));
        return 0;
    case DW_FORM_strp_sup: return td_cur_uint(cur, table->offset_size);
    case DW_FORM_udata:
    case DW_FORM_strx: return td_cur_uleb(cur);
    case DW_FORM_data1:
    case DW_FORM_strx1: return td_cur_uint(cur, 1);
    case DW_FORM_data2:
    case DW_FORM_strx2: return td_cur_uint(cur, 2);
    case DW_FORM_strx3: return td_cur_uint(cur, 3);
    case DW_FORM_data4:
    case DW_FORM_strx4: return td_cur_uint(cur, 4);
    case DW_FORM_data8: return td_cur_uint(cur, 8);
    case DW_FORM_data16: (void)td_cur_bytes(cur, 16); return 0;
    case DW_FORM_block: (void)td_cur_bytes(cur, td_cur_uleb(cur)); return 0;
    default: cur->bad = true; return 0;
    }
}

/* The directories of a table of version 5, or its files. */
static void read_entries(struct td_cur *cur, struct td_line_table *table,
                         const struct td_line_sections *s, bool files)
{
    struct layout layout = {.count = 0};

    read_layout(cur, &layout);
    const uint64_t count = td_cur_uleb(cur);
    for (uint64_t entry = 0; entry < count && layout.count > 0 && !cur->bad; entry++) {
        const char *name = NULL, *text = NULL;
        uint64_t directory = 0;

        for (size_t i = 0; i < layout.count; i++) {
            const uint64_t value = read_value(cur, table, s, layout.form[i], &text);

            if (layout.content[i] == DW_LNCT_path)
                name = text;
            else if (layout.content[i] == DW_LNCT_directory_index)
                directory = value;
        }
        if (files)
            add_file(table, name, directory);
        else
            add_directory(table, name);
    }
}

/* The fields from the version to the lengths of opcodes; the cursor is at the tables then. Returns
 * where the program begins. */
static struct td_cur read_fields(struct td_cur *cur, struct td_line_table *table)
{
    table->version = td_cur_u16(cur);
    if (table->version >= 5) {
        table->address_size = td_cur_u8(cur);
        (void)td_cur_u8(cur); /* size of segment selectors */
    }
    const uint64_t header = td_cur_uint(cur, table->offset_size);
    struct td_cur program = *cur;
    (void)td_cur_bytes(&program, header);
    table->min_instruction = td_cur_u8(cur);
    table->max_operations = table->version >= 4 ? td_cur_u8(cur) : 1;
    (void)td_cur_u8(cur); /* whether rows begin statements: each row counts here */
    table->line_base = (int8_t)td_cur_u8(cur);
    table->line_range = td_cur_u8(cur);
    table->opcode_base = td_cur_u8(cur);
    for (unsigned i = 1; i < table->opcode_base; i++)
        table->operand_counts[i] = td_cur_u8(cur);
    return program;
}

static void parse(struct td_line_table *table, const struct td_line_sections *s, uint64_t offset)
{
    struct td_cur cur = td_cur_at(s->line, offset);
    uint64_t length = td_cur_u32(&cur);

    table->offset_size = 4;
    if (length == UINT32_MAX) {
        length = td_cur_u64(&cur);
        table->offset_size = 8;
    }
    if (length > td_cur_left(&cur))
        return;
    cur.end = cur.at + length;
    const struct td_cur program = read_fields(&cur, table);
    if (cur.bad || program.bad || program.at < cur.at || table->version < 2 || table->version > 5 ||
        table->opcode_base == 0 || (table->address_size != 4 && table->address_size != 8))
        return;
    cur.end = program.at; /* the tables end where the program begins */
    if (table->version < 5) {
        read_old_tables(&cur, table);
    } else {
        read_entries(&cur, table, s, false);
        read_entries(&cur, table, s, true);
    }
    table->program = (struct td_bytes){.data = program.at, .size = (size_t)td_cur_left(&program)};
    table->valid = !cur.bad;
}

/* What libdw reads of the section; it has decompressed it. */
static struct td_bytes section_bytes(Elf_Scn *section)
{
    const Elf_Data *data = elf_rawdata(section, NULL);

    return data && data->d_buf
               ? (struct td_bytes){.data = data->d_buf, .size = (size_t)data->d_size}
               : (struct td_bytes){0};
}

/* Of the file that the unit is in: the module's, or the supplementary one. */
static const struct td_line_sections *sections_of(struct td_dwarf_unit *unit)
{
    Dwarf *const dw = dwarf_cu_getdwarf(unit->die.die.cu);
    struct td_line_sections *s = &unit->dwarf->line_sections[dw != unit->dwarf->dw];
    size_t names = 0;
    Elf *const elf = dwarf_getelf(dw);

    if (s->loaded || elf_getshdrstrndx(elf, &names) != 0)
        return s;
    s->loaded = true;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;

        if (!name || name[0] != '.' || header.sh_type == SHT_NOBITS)
            continue;
        name += strncmp(name, ".z", 2) == 0 ? 2 : 1;
        if (strcmp(name, "debug_line") == 0)
            s->line = section_bytes(section);
        else if (strcmp(name, "debug_line_str") == 0)
            s->line_str = section_bytes(section);
        else if (strcmp(name, "debug_str") == 0)
            s->str = section_bytes(section);
    }
    return s;
}

struct td_line_table *td_dwarf_line_table(struct td_dwarf_unit *unit)
{
    struct td_dwarf *dwarf = unit->dwarf;
    uint64_t offset = 0;
    bool added = false;

    if (!td_die_uint(&unit->die, TD_SLOT_STMT_LIST, &offset))
        return NULL;
    if (!unit->line_table) {
        const struct td_line_sections *s = sections_of(unit);
        const bool other = s != dwarf->line_sections;
        const uint32_t i = *td_map_put(&dwarf->line_table_ids, offset, other,
                                       (uint32_t)dwarf->line_table_count, &added);

        if (added) {
            dwarf->line_tables = td_grow(dwarf->line_tables, &dwarf->line_table_cap,
                                         dwarf->line_table_count + 1, sizeof(*dwarf->line_tables));
            struct td_line_table *table = td_xcalloc(1, sizeof(*table));
            dwarf->line_tables[dwarf->line_table_count++] = table;
            table->address_size = unit->address_size;
            table->comp_dir = td_die_string(&unit->die, TD_SLOT_COMP_DIR);
            parse(table, s, offset);
            table->valid = table->valid && td_dwarf_work(dwarf, table->file_count);
        }
        unit->line_table = dwarf->line_tables[i];
    }
    return unit->line_table->valid ? unit->line_table : NULL;
}

char *td_line_table_path(const struct td_line_table *table, uint64_t file)
{
    const struct td_line_file *f = file < table->file_count ? &table->files[file] : NULL;

    if (!f || !f->name)
        return NULL;
    const char *folder =
        f->directory < table->directory_count ? table->directories[f->directory] : NULL;
    if (f->name[0] == '/' || (!folder && !table->comp_dir))
        return td_xstrdup(f->name);
    if (!folder)
        return td_xasprintf("%s/%s", table->comp_dir, f->name);
    if (folder[0] == '/' || !table->comp_dir)
        return td_xasprintf("%s/%s", folder, f->name);
    return td_xasprintf("%s/%s/%s", table->comp_dir, folder, f->name);
}

void td_line_table_free(struct td_line_table *table)
{
    free(table->directories);
    free(table->files);
    free(table);
}

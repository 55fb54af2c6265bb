/* SPDX-License-Identifier: MIT */
#include "formats/profile/dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/profile/read.h"
#include "formats/cores/tma.h"

struct dump {
    FILE *out;
    size_t at; /* of the present record, in its chunk's payload */
};

/* Text from the file, in quotes, harmless. */
static void print_text(FILE *out, const char *s, size_t len)
{
    const size_t need = td_text_safe((char[1]){0}, 1, s, len) + 1;
    char *safe = td_xalloc(need);

    td_text_safe(safe, need, s, len);
    fprintf(out, "\"%s\"", safe);
    free(safe);
}

static void print_hex(FILE *out, const uint8_t *bytes, size_t size)
{
    if (size == 0)
        fputc('-', out);
    for (size_t i = 0; i < size; i++)
        fprintf(out, "%02x", bytes[i]);
}

static void print_id(FILE *out, const char *what, uint32_t id)
{
    if (id == TD_NONE)
        fprintf(out, " %s=-", what);
    else
        fprintf(out, " %s=%" PRIu32, what, id);
}

static const char *tma_id(enum td_tma_node node)
{
    return node == TD_NODE_NONE ? "-" : td_tma_info(node)->id;
}

/* "  OFFSET  KIND" begins each record's line. */
static FILE *begin(const struct dump *dump, const char *what)
{
    fprintf(dump->out, "  %6zx  %s", dump->at, what);
    return dump->out;
}

static void on_header(void *ctx, const struct td_profile_header *header)
{
    const struct dump *dump = ctx;

    fprintf(dump->out,
            "%08x  header size=%u version=%u.%u compatible=0x%x incompatible=0x%x id=", 0u,
            header->size, header->major, header->minor, header->compatible, header->incompatible);
    print_hex(dump->out, header->id, TD_PROFILE_ID_SIZE);
    fputc('\n', dump->out);
}

static void on_chunk(void *ctx, uint64_t offset, const struct td_chunk_head *head)
{
    const struct dump *dump = ctx;
    const char *name = td_chunk_kind_name(head->kind);

    fprintf(dump->out,
            "%08" PRIx64 "  chunk %" PRIu32 " %s kind=%u flags=%s%s stored=%" PRIu32 " raw=%" PRIu32
            "\n",
            offset, head->sequence, name ? name : "unknown", head->kind,
            head->flags & TD_CHUNK_REQUIRED ? "required" : "optional",
            head->flags & TD_CHUNK_ZSTD ? ",zstd" : "", head->stored_size, head->raw_size);
}

static void on_record(void *ctx, size_t payload_offset)
{
    struct dump *dump = ctx;

    dump->at = payload_offset;
}

static void on_env(void *ctx, const char *const text[2], const size_t len[2])
{
    FILE *out = begin(ctx, "env ");

    print_text(out, text[0], len[0]);
    fputc('=', out);
    print_text(out, text[1], len[1]);
    fputc('\n', out);
}

static void on_string(void *ctx, uint32_t id, const char *s, size_t len)
{
    FILE *out = begin(ctx, "string");

    fprintf(out, " %" PRIu32 " ", id);
    print_text(out, s, len);
    fputc('\n', out);
}

static void on_module(void *ctx, uint32_t id, const struct td_module *m)
{
    FILE *out = begin(ctx, "module");

    fprintf(out,
            " %" PRIu32 " %s path=%" PRIu32 " pid=%" PRIu32 " base=0x%" PRIx64 " build-id=", id,
            td_module_kind_name(m->kind), m->path, m->pid, m->base);
    print_hex(out, m->build_id.bytes, m->build_id.size);
    fputc('\n', out);
}

static void on_thread(void *ctx, uint32_t id, const struct td_thread *t)
{
    fprintf(begin(ctx, "thread"),
            " %" PRIu32 " pid=%" PRIu32 " tid=%" PRIu32 " name=%" PRIu32 " process=%" PRIu32
            " start=%" PRIu64 "\n",
            id, t->pid, t->tid, t->name, t->process, t->start_ns);
}

static void on_pass(void *ctx, uint32_t group, uint32_t pass)
{
    fprintf(begin(ctx, "pass"), " group=%" PRIu32 " pass=%" PRIu32 "\n", group, pass);
}

static void on_group_region(void *ctx, uint32_t group, uint32_t region)
{
    fprintf(begin(ctx, "group region"), " group=%" PRIu32 " region=%" PRIu32 "\n", group, region);
}

static void on_origin(void *ctx, uint32_t thread, uint32_t string)
{
    fprintf(begin(ctx, "origin"), " thread=%" PRIu32 " origin=%" PRIu32 "\n", thread, string);
}

static void on_counts(void *ctx, uint32_t event, const struct td_event_counts *c)
{
    fprintf(begin(ctx, "counts"),
            " event=%" PRIu32 " counted=%" PRIu64 " sampled=%" PRIu64 " elsewhere=%" PRIu64
            " rest=%" PRIu64 " enabled=%" PRIu64 " running=%" PRIu64 "\n",
            event, c->counted, c->sampled, c->elsewhere, c->rest, c->enabled_ns, c->running_ns);
}

static void on_event(void *ctx, uint32_t id, const struct td_event *e)
{
    fprintf(begin(ctx, "event"),
            " %" PRIu32 " name=%" PRIu32 " unit=%s type=%" PRIu32 " config=0x%" PRIx64 ",0x%" PRIx64
            ",0x%" PRIx64 " period=%" PRIu64 " frequency=%" PRIu64 " flags=0x%x\n",
            id, e->name, td_unit_name(e->unit), e->pmu_type, e->config[0], e->config[1],
            e->config[2], e->period, e->frequency_hz, e->flags);
}

static void on_group(void *ctx, uint32_t id, const struct td_group *g)
{
    FILE *out = begin(ctx, "group");

    fprintf(out, " %" PRIu32 " name=%" PRIu32 " role=%s attribution=%s locates=%s", id, g->name,
            td_group_role_name(g->role), td_attribution_name(g->attribution), tma_id(g->locates));
    print_id(out, "sampler", g->sampler);
    print_id(out, "cpu-type", g->cpu_type);
    for (uint32_t c = 0; c < g->column_count; c++) {
        fprintf(out, " [%s", td_column_kind_name(g->columns[c].kind));
        print_id(out, "event", g->columns[c].event);
        fprintf(out, " node=%s]", tma_id(g->columns[c].node));
    }
    fputc('\n', out);
}

static void on_symbol(void *ctx, uint32_t module, const struct td_symbol *s)
{
    FILE *out = begin(ctx, "symbol");

    fprintf(out, " module=%" PRIu32 " offset=0x%" PRIx64 " size=%" PRIu64 " name=%" PRIu32, module,
            s->offset, s->size, s->name);
    if (s->file)
        fprintf(out, " file=%" PRIu32 " line=%" PRIu32, s->file, s->line);
    fputc('\n', out);
}

static void on_region(void *ctx, uint32_t id, uint32_t parent, uint32_t name)
{
    FILE *out = begin(ctx, "region");

    fprintf(out, " %" PRIu32, id);
    print_id(out, "parent", parent);
    print_id(out, "name", name);
    fputc('\n', out);
}

static void on_region_row(void *ctx, const struct td_region_row *r, const uint64_t *values,
                          uint32_t value_count)
{
    FILE *out = begin(ctx, "row");

    fprintf(out, " thread=%" PRIu32 " region=%" PRIu32, r->thread, r->region);
    print_id(out, "group", r->group);
    fprintf(out,
            " unit=%s begun=%" PRIu64 " ended=%" PRIu64 " timed=%" PRIu64 " sum=%" PRIu64
            " min=%" PRIu64 " max=%" PRIu64 " squares=%" PRIu64 ",%" PRIu64 " whole=%" PRIu64
            " seen=%" PRIu64,
            td_unit_name(r->unit), r->begun, r->ended, r->timed, r->sum, r->min, r->max,
            r->squares[0], r->squares[1], r->whole, r->seen);
    for (uint32_t c = 0; c < value_count; c++)
        fprintf(out, " %" PRIu64, values[c]);
    fputc('\n', out);
}

static void on_code(void *ctx, const struct td_ran_block *b)
{
    FILE *out = begin(ctx, "code");

    fprintf(out,
            " module=%" PRIu32 " offset=0x%" PRIx64 " size=%" PRIu32 " insns=%" PRIu32
            " branch=%u target=%" PRId64 " runs=%" PRIu64 " taken=%" PRIu64 "\n",
            b->module, b->offset, b->size, b->insn_count, b->branch, b->target, b->runs, b->taken);
    for (uint32_t i = 0; i < b->edge_count; i++)
        fprintf(out, "          edge %" PRId64 " count=%" PRIu64 "\n", b->edges[i].delta,
                b->edges[i].count);
    for (uint32_t i = 0; i < b->uop_count; i++) {
        const struct td_ran_uop *u = &b->uops[i];

        fprintf(out,
                "          uop insn=%u src=%u,%u,%u address=%u,%u dst=%u,%u flags=0x%x slots=%u "
                "latency=%u,%u store=%u,%u busy=%u unit=%u ports=%x,%x,%x,%x,%x\n",
                u->insn, u->src[0], u->src[1], u->src[2], u->address[0], u->address[1], u->dst[0],
                u->dst[1], u->flags, u->slots, u->latency, u->load_latency, u->back, u->forward,
                u->busy, u->unit, u->ports[0], u->ports[1], u->ports[2], u->ports[3], u->ports[4]);
    }
}

static void print_side(FILE *out, const char *name, const struct td_shared_side *side)
{
    fprintf(out, " %s", name);
    print_id(out, "thread", side->thread);
    print_id(out, "module", side->module);
    fprintf(out, " offset=%" PRIx64 " store=%d", side->offset, side->store);
}

static void on_shared(void *ctx, const struct td_shared_row *r)
{
    FILE *out = begin(ctx, "shared");

    fprintf(out, " process=%" PRIu32 " address=%" PRIx64 " area=%s", r->process, r->address,
            td_shared_area_name(r->area));
    print_id(out, "module", r->module);
    fprintf(out, " offset=%" PRIx64, r->offset);
    print_side(out, "mine", &r->mine);
    print_side(out, "theirs", &r->theirs);
    fprintf(out, " false=%d transfers=%" PRIu64 " invalidations=%" PRIu64 " cycles=%" PRIu64 "\n",
            r->is_false, r->transfers, r->invalidations, r->cycles);
}

static void on_habit(void *ctx, const struct td_habit *habit)
{
    FILE *out = begin(ctx, "habit");

    fprintf(out, " module=%" PRIu32 " offset=0x%" PRIx64, habit->module, habit->offset);
    for (int i = 0; i < TD_HABIT_FIGURE_COUNT; i++) {
        if (habit->figures[i])
            fprintf(out, " %s=%" PRIu64, td_habit_info((enum td_habit_figure)i).name,
                    habit->figures[i]);
    }
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        fprintf(out, " [%s=%" PRId64, td_habit_mark_name(mark->kind), mark->key);
        if (mark->module != TD_NONE)
            fprintf(out, " module=%" PRIu32, mark->module);
        fprintf(out, " count=%" PRIu64 "]", mark->count);
    }
    fputc('\n', out);
}

static void on_nodes(void *ctx, const struct td_profile_nodes *nodes)
{
    FILE *out = begin(ctx, "nodes");

    fprintf(out, " epoch=%" PRIu32 " first=%" PRIu32 " count=%" PRIu32 "\n", nodes->epoch,
            nodes->first, nodes->count);
    for (uint32_t i = 0; i < nodes->count; i++)
        fprintf(out,
                "          node %" PRIu32 " parent=%" PRIu32 " module=%" PRIu32 " offset=0x%" PRIx64
                "\n",
                nodes->first + i, nodes->rows[i].parent, nodes->rows[i].module,
                nodes->rows[i].offset);
}

static void print_runs(const struct dump *dump, const struct td_profile_values *values,
                       const char *what, const char *amount)
{
    FILE *out = begin(dump, what);
    const struct td_value_row *row = values->runs->rows;
    const uint64_t *value = values->runs->values;

    fprintf(out, " epoch=%" PRIu32 "\n", values->epoch);
    for (uint32_t r = 0; r < values->runs->run_count; r++) {
        const struct td_value_run *run = &values->runs->runs[r];

        fprintf(out, "          run group=%" PRIu32, run->group);
        print_id(out, "cpu", run->cpu);
        fprintf(out, " count=%" PRIu32 "\n", run->count);
        for (uint32_t i = 0; i < run->count; i++, row++) {
            fprintf(out, "            %s=%" PRIu64 " thread=%" PRIu32 " node=%" PRIu32, amount,
                    row->amount, row->thread, row->node);
            for (uint32_t c = 0; c < run->columns; c++)
                fprintf(out, " %" PRIu64, *value++);
            fputc('\n', out);
        }
    }
}

static void on_samples(void *ctx, const struct td_profile_values *values)
{
    print_runs(ctx, values, "samples", "time");
}

static void on_tallies(void *ctx, const struct td_profile_values *values)
{
    print_runs(ctx, values, "tallies", "samples");
}

static void on_counter(void *ctx, uint64_t counter, uint64_t value)
{
    fprintf(begin(ctx, "counter"), " %" PRIu64 " %s=%" PRIu64 "\n", counter,
            counter < TD_COUNTER_COUNT ? td_counter_name((unsigned)counter) : "?", value);
}

static void on_end(void *ctx, uint64_t kind, uint64_t total)
{
    const char *name = kind <= UINT8_MAX ? td_chunk_kind_name((unsigned)kind) : NULL;

    fprintf(begin(ctx, "total"), " %" PRIu64 " %s=%" PRIu64 "\n", kind, name ? name : "unknown",
            total);
}

static void on_damage(void *ctx, const struct td_err *err)
{
    const struct dump *dump = ctx;

    fprintf(dump->out, "%08" PRIx64 "  DAMAGE %s\n", err->offset, err->text);
}

int td_profile_dump(const void *data, size_t size, FILE *out, bool *sound, struct td_err *err)
{
    struct dump dump = {.out = out};
    const struct td_profile_visitor visitor = {
        .ctx = &dump,
        .header = on_header,
        .chunk = on_chunk,
        .record = on_record,
        .env = on_env,
        .string = on_string,
        .module = on_module,
        .thread = on_thread,
        .origin = on_origin,
        .pass = on_pass,
        .group_region = on_group_region,
        .counts = on_counts,
        .event = on_event,
        .group = on_group,
        .region = on_region,
        .region_row = on_region_row,
        .code = on_code,
        .shared = on_shared,
        .habit = on_habit,
        .symbol = on_symbol,
        .nodes = on_nodes,
        .samples = on_samples,
        .tallies = on_tallies,
        .counter = on_counter,
        .end = on_end,
        .damage = on_damage,
    };
    struct td_profile_ending ending = {0};
    const int rc = td_profile_read(data, size, &visitor, &ending, err);

    if (rc < 0)
        return rc;
    if (ending.cut)
        fprintf(out, "%08" PRIx64 "  CUT here: no end chunk, %" PRIu64 " bytes of a torn one\n",
                ending.end_offset, size - ending.end_offset);
    if (sound)
        *sound = ending.complete && ending.damages == 0;
    return TD_OK;
}

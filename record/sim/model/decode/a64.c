/* SPDX-License-Identifier: MIT */
/* A64 instructions (aarch64) to uops. Their forms are in forms_a64.def. */
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/sim/model/decode/isa.h"

/* Registers 31: the stack pointer or zero, as the operand says. */
enum { STACK_POINTER = TD_REG_GPR + 31, LINK_REGISTER = TD_REG_GPR + 30 };

/* What a form reads and writes. G: integer register, S: the same with the stack pointer for 31, V:
 * vector, P: predicate; D: destination (bits 0 to 4), N (5 to 9), M (16 to 20), A (10 to 14), T:
 * the place of D read. */
enum registers {
    GD = 1 << 0,
    SPD = 1 << 1,
    VD = 1 << 2,
    PD = 1 << 3,
    RD = 1 << 4, /* the destination is read too */
    RQ = 1 << 5, /* when the form fills the upper half: bit 30 */
    GN = 1 << 6,
    SPN = 1 << 7,
    VN = 1 << 8,
    PN = 1 << 9,
    GM = 1 << 10,
    SPM = 1 << 11,
    VM = 1 << 12,
    VE = 1 << 13, /* an element of it: 16 registers when the elements are of 16 bits */
    PM = 1 << 14,
    GA = 1 << 15,
    VA = 1 << 16,
    PG = 1 << 17, /* governing predicate, bits 10 to 12 */
    GT = 1 << 18,
    SPT = 1 << 19,
    VT = 1 << 20,
    GS = 1 << 21, /* written, bits 16 to 20: the old value, the status of a store */
    FR = 1 << 22, /* the flags */
    FW = 1 << 23,
    LINK = 1 << 24,  /* writes the link register */
    LINKS = 1 << 25, /* reads and writes it */
    AUTH = 1 << 26,  /* authenticates the target first */
};

enum access {
    LD = 1 << 0,
    ST = 1 << 1,
    PF = 1 << 2,
    PAIR = 1 << 3, /* the second register in bits 10 to 14 */
    POST = 1 << 4,
    PRE = 1 << 5,
    INDEX = 1 << 6,
    LITERAL = 1 << 7, /* relative to the instruction */
    MULTI = 1 << 8,   /* whole vectors, one to four */
    LANE = 1 << 9,    /* one element of one to four vectors */
    ZVA = 1 << 10,    /* zeroes a block; the address is in bits 0 to 4 */
    VBASE = 1 << 11,  /* the addresses are in a vector */
};

struct form {
    uint32_t mask, value;
    uint32_t registers;
    uint16_t access;
    uint8_t class; /* enum td_op_class */
};

static const struct form forms[] = {
#define M(form_mask, form_value, form_class, form_registers, form_access) \
    {.mask = (form_mask),                                                 \
     .value = (form_value),                                               \
     .class = TD_OP_##form_class,                                         \
     .registers = (form_registers),                                       \
     .access = (form_access)},
#define F(form_mask, form_value, form_class, form_registers) \
    M(form_mask, form_value, form_class, form_registers, 0)
#include "record/sim/model/decode/forms_a64.def"
#undef F
#undef M
};

/* Forms by bits 24 to 28, in order. */
enum { GROUP_COUNT = 32, GROUP_AT = 24 };

struct index {
    uint16_t begin[GROUP_COUNT + 1];
    uint16_t forms[GROUP_COUNT * TD_ARRAY_SIZE(forms)];
};

static void *open_index(void)
{
    struct index *index = td_xcalloc(1, sizeof(*index));
    uint16_t count = 0;

    for (uint32_t group = 0; group < GROUP_COUNT; group++) {
        index->begin[group] = count;
        for (size_t i = 0; i < TD_ARRAY_SIZE(forms); i++) {
            const uint32_t differ = (forms[i].value ^ group << GROUP_AT) & forms[i].mask;
            if (!(differ & (GROUP_COUNT - 1) << GROUP_AT))
                index->forms[count++] = (uint16_t)i;
        }
    }
    index->begin[GROUP_COUNT] = count;
    return index;
}

static const struct form *find_form(const struct index *index, uint32_t word)
{
    const uint32_t group = word >> GROUP_AT & (GROUP_COUNT - 1);

    for (uint32_t i = index->begin[group]; i < index->begin[group + 1]; i++) {
        const struct form *form = &forms[index->forms[i]];
        if ((word & form->mask) == form->value)
            return form;
    }
    return NULL;
}

/* An instruction on its way to uops. */
struct work {
    const struct td_decoder *decoder;
    const struct form *form;
    uint32_t word;
    uint8_t src[3], dst[4];
    int src_count, dst_count;
    struct td_insn *insn;
};

static uint32_t field(const struct work *w, int at)
{
    return w->word >> at & 31;
}

static bool bit(const struct work *w, int at)
{
    return w->word >> at & 1;
}

static uint8_t general(uint32_t number)
{
    return number == 31 ? TD_REG_NONE : (uint8_t)(TD_REG_GPR + number);
}

static uint8_t general_or_sp(uint32_t number)
{
    return (uint8_t)(TD_REG_GPR + number);
}

static uint8_t vector(uint32_t number)
{
    return (uint8_t)(TD_REG_VECTOR + (number & 31));
}

static uint8_t predicate(uint32_t number)
{
    return (uint8_t)(TD_REG_PREDICATE + (number & 15));
}

/* More than three sources: the model waits for the first three. */
static void read_one(struct work *w, uint8_t reg)
{
    if (reg != TD_REG_NONE && w->src_count < (int)TD_ARRAY_SIZE(w->src))
        w->src[w->src_count++] = reg;
}

static void write_one(struct work *w, uint8_t reg)
{
    if (reg != TD_REG_NONE && w->dst_count < (int)TD_ARRAY_SIZE(w->dst))
        w->dst[w->dst_count++] = reg;
}

static uint8_t element_register(const struct work *w)
{
    const uint32_t size = w->word >> 22 & 3;

    return vector(size == 2 || size == 3 ? field(w, 16) : field(w, 16) & 15);
}

static uint8_t destination(const struct work *w, uint32_t number)
{
    const uint32_t r = w->form->registers;

    if (r & VD)
        return vector(number);
    if (r & PD)
        return predicate(number);
    if (r & SPD)
        return general_or_sp(number);
    return r & GD ? general(number) : TD_REG_NONE;
}

static void read_registers(struct work *w)
{
    const uint32_t r = w->form->registers;
    const struct {
        uint32_t if_any;
        uint8_t reg;
    } reads[] = {
        {GN, general(field(w, 5))},
        {SPN, general_or_sp(field(w, 5))},
        {VN, vector(field(w, 5))},
        {PN, predicate(field(w, 5))},
        {GM, general(field(w, 16))},
        {SPM, general_or_sp(field(w, 16))},
        {VM, vector(field(w, 16))},
        {VE, element_register(w)},
        {PM, predicate(field(w, 16))},
        {GA, general(field(w, 10))},
        {VA, vector(field(w, 10))},
        {GT, general(field(w, 0))},
        {SPT, general_or_sp(field(w, 0))},
        {VT, vector(field(w, 0))},
        {FR, TD_REG_FLAGS},
        {LINKS, LINK_REGISTER},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(reads); i++) {
        if (r & reads[i].if_any)
            read_one(w, reads[i].reg);
    }
    if (r & RD || (r & RQ && bit(w, 30)))
        read_one(w, destination(w, field(w, 0)));
    if (r & PG)
        read_one(w, predicate(field(w, 10) & 7));
}

static void write_registers(struct work *w)
{
    const uint32_t r = w->form->registers;

    write_one(w, destination(w, field(w, 0)));
    if (r & GS)
        write_one(w, general(field(w, 16)));
    if (r & FW)
        write_one(w, TD_REG_FLAGS);
    if (r & (LINK | LINKS))
        write_one(w, LINK_REGISTER);
}

/* How many vectors a structure load or store takes; *interleaved: by elements. */
static uint32_t vector_count(const struct work *w, bool *interleaved)
{
    /* By opcode, bits 12 to 15 (C4.1.94): 1 to 4 vectors. */
    static const uint8_t by_opcode[16] = {4, 1, 4, 1, 3, 1, 3, 1, 2, 1, 2, 1, 1, 1, 1, 1};
    const uint32_t opcode = w->word >> 12 & 15;

    if (w->form->access & MULTI) {
        *interleaved = by_opcode[opcode] > 1 && !(opcode & 2);
        return by_opcode[opcode];
    }
    *interleaved = true;
    return (bit(w, 13) ? 2U : 0U) + (bit(w, 21) ? 1U : 0U) + 1;
}

static struct td_uop *add_more(struct work *w)
{
    struct td_insn *insn = w->insn;

    if (insn->more_count == TD_INSN_MORE_MAX)
        return NULL;
    struct td_uop *uop = &insn->more[insn->more_count++];
    *uop = (struct td_uop){.dst = {TD_REG_SINK, TD_REG_SINK}};
    return uop;
}

/* The second half of a wide access takes a load port of its own. */
static void add_half(struct work *w)
{
    struct td_uop *uop = add_more(w);

    if (!uop)
        return;
    uop->issue = w->decoder->load;
    uop->port = TD_CAUSE_PORT_LOAD;
    uop->src[0] = w->insn->uop.address[0];
    /* When the base is loaded too, it is not there yet for this half. */
    for (int i = 0; i < w->dst_count; i++) {
        if (w->dst[i] == uop->src[0])
            uop->src[0] = TD_REG_NONE;
    }
    uop->latency = (uint8_t)w->decoder->desc->l1d_latency;
}

/* The base register after the access: an addition beside it. */
static void add_writeback(struct work *w, uint8_t base)
{
    struct td_uop *uop = add_more(w);

    if (!uop)
        return;
    td_decode_cost(w->decoder, TD_OP_ALU, uop);
    uop->slots = 0;
    uop->src[0] = base;
    uop->dst[0] = base;
    if (w->form->access & (MULTI | LANE) && field(w, 16) != 31)
        uop->src[1] = general(field(w, 16));
}

static void execute_nowhere(struct td_uop *uop)
{
    uop->issue = (struct td_port_mask){0};
    uop->latency = 0;
}

/* The registers of a structure access after the first; destinations beyond two wait for a uop
 * more. */
static void transfer_vectors(struct work *w)
{
    const bool load = w->form->access & LD;
    bool interleaved;
    const uint32_t count = vector_count(w, &interleaved);

    if (!interleaved)
        execute_nowhere(&w->insn->uop);
    w->insn->uop.slots = (uint8_t)(interleaved ? count : (count + 1) / 2);
    for (uint32_t i = 1; i < count; i++) {
        if (load)
            write_one(w, vector(field(w, 0) + i));
        else
            read_one(w, vector(field(w, 0) + i));
    }
    if (!load || count < 3)
        return;
    struct td_uop *uop = add_more(w);
    if (!uop)
        return;
    td_decode_cost(w->decoder, TD_OP_VSHUF, uop);
    uop->slots = 0;
    if (!interleaved)
        execute_nowhere(uop);
    uop->src[0] = w->dst[0];
    for (int i = 2; i < w->dst_count; i++)
        uop->dst[i - 2] = w->dst[i];
}

static void transfer_pair(struct work *w)
{
    const uint32_t number = field(w, 10), r = w->form->registers;
    const uint32_t size = w->word >> 30;

    if (w->form->access & ST)
        read_one(w, r & VT ? vector(number) : general(number));
    else
        write_one(w, r & VD ? vector(number) : general(number));
    /* Pairs of 16 bytes and more: of X or Q registers. */
    if (w->form->access & LD && size == 2)
        add_half(w);
}

static bool is_pair_form(uint32_t word)
{
    return (word & 0x3a000000) == 0x28000000;
}

/* The constant added to the base, for the forms that have one. */
static int32_t offset_of(const struct work *w)
{
    const uint32_t size = w->word >> 30;
    const bool is_vector = bit(w, 26);

    if (is_pair_form(w->word)) {
        const uint32_t shift = is_vector ? size + 2 : size & 2 ? 3 : 2;
        const int32_t imm7 = (int32_t)(w->word >> 15 & 127);
        return (imm7 < 64 ? imm7 : imm7 - 128) * (1 << shift);
    }
    if ((w->word & 0x3b000000) == 0x39000000)
        return (int32_t)(w->word >> 10 & 4095) * (1 << (is_vector && bit(w, 23) ? 4 : size));
    if ((w->word & 0x3b200000) == 0x38000000) {
        const int32_t imm9 = (int32_t)(w->word >> 12 & 511);
        return imm9 < 256 ? imm9 : imm9 - 512;
    }
    return 0;
}

/* An access by the stack pointer shows where it is. */
static void show_stack_pointer(struct work *w)
{
    const uint32_t a = w->form->access;
    struct td_insn *insn = w->insn;

    if (a & (INDEX | PF))
        return;
    insn->sp_effect = TD_SP_SHOWN;
    if (a & (MULTI | LANE) && a & POST)
        insn->sp_effect = TD_SP_LOST;
    else if (!(a & (POST | PRE)))
        insn->sp_offset = -offset_of(w);
    else
        insn->sp_moved = offset_of(w);
    if (a & POST)
        insn->sp_offset = insn->sp_moved;
}

static void set_address(struct work *w)
{
    const uint32_t a = w->form->access;
    struct td_uop *uop = &w->insn->uop;

    if (a & LITERAL)
        return;
    const uint8_t base = a & ZVA ? general(field(w, 0)) : general_or_sp(field(w, 5));
    uop->address[0] = a & VBASE ? vector(field(w, 5)) : base;
    if (a & INDEX)
        uop->address[1] = general(field(w, 16));
    if (!(a & (INDEX | ZVA)) && base == STACK_POINTER)
        uop->memory |= TD_MEMORY_STACK;
    if (a & (POST | PRE))
        add_writeback(w, base);
    if (base == STACK_POINTER && !(a & VBASE))
        show_stack_pointer(w);
}

static void set_memory(struct work *w)
{
    const struct td_core_desc *desc = w->decoder->desc;
    const uint32_t a = w->form->access;
    struct td_uop *uop = &w->insn->uop;

    if (!a)
        return;
    if (w->form->class != TD_OP_LOCKED && w->form->class != TD_OP_PAC && !(a & (MULTI | LANE)))
        execute_nowhere(uop);
    set_address(w);
    if (a & (MULTI | LANE))
        transfer_vectors(w);
    if (a & PAIR)
        transfer_pair(w);
    if (a & LD)
        uop->flags |= TD_UOP_LOAD;
    if (a & ST)
        uop->flags |= TD_UOP_STORE;
    if (a & PF)
        uop->flags |= TD_UOP_PREFETCH;
    if (a & LD && w->form->registers & VD)
        uop->load_latency = (uint8_t)desc->vector_latency;
    if (a & INDEX && bit(w, 12))
        uop->load_latency = (uint8_t)(uop->load_latency + desc->index_latency);
}

static bool is_register_branch(uint32_t word)
{
    return word >> 25 == 0x6b;
}

/* Direct branches: imm26, imm14 (tbz) or imm19. */
static int64_t displacement(uint32_t word)
{
    int bits = 19, at = 5;

    if ((word & 0x7c000000) == 0x14000000) {
        bits = 26;
        at = 0;
    } else if ((word & 0x7e000000) == 0x36000000) {
        bits = 14;
    }
    const int64_t value = word >> at & ((1U << bits) - 1);
    return (value ^ (INT64_C(1) << (bits - 1))) * 4 - (INT64_C(4) << (bits - 1));
}

static void set_branch(struct work *w, uint64_t pc)
{
    const bool indirect = is_register_branch(w->word);
    struct td_insn *insn = w->insn;

    switch ((int)w->form->class) {
    case TD_OP_BRANCH: insn->branch = TD_BRANCH_CONDITIONAL; break;
    case TD_OP_JUMP: insn->branch = indirect ? TD_BRANCH_INDIRECT_JUMP : TD_BRANCH_JUMP; break;
    case TD_OP_CALL: insn->branch = indirect ? TD_BRANCH_INDIRECT_CALL : TD_BRANCH_CALL; break;
    case TD_OP_RET: insn->branch = TD_BRANCH_RETURN; break;
    default: return;
    }
    if (!indirect)
        insn->target = pc + (uint64_t)displacement(w->word);
    if (w->form->registers & AUTH)
        insn->uop.latency = (uint8_t)(insn->uop.latency + w->decoder->desc->ops[TD_OP_PAC].latency);
}

/* The pairs that Arm's cores of this family rename as one (Neoverse N2 Software Optimization Guide,
 * 4.13): a compare or test without a result, then b.cond; an AES round, then its mix. */
static void set_fusion(struct work *w)
{
    const uint32_t r = w->form->registers;
    struct td_insn *insn = w->insn;

    if (w->form->class == TD_OP_ALU_FLAGS && r & GD && field(w, 0) == 31)
        insn->fuses_first = TD_FUSION_JUMP;
    if (w->form->class == TD_OP_BRANCH && r & FR)
        insn->fuses_second = TD_FUSION_JUMP;
    if (w->form->class == TD_OP_AES) {
        if (r & RD)
            insn->fuses_first = TD_FUSION_AES;
        else if (field(w, 0) == field(w, 5))
            insn->fuses_second = TD_FUSION_AES;
    }
}

/* add and sub of a constant move the stack pointer, any other result loses it. */
static void follow_stack_pointer(struct work *w)
{
    struct td_insn *insn = w->insn;

    if (!(w->form->registers & SPD) || field(w, 0) != 31)
        return;
    const bool immediate = (w->word & 0x3f800000) == 0x11000000;
    insn->sp_effect = immediate && field(w, 5) == 31 ? TD_SP_MOVED : TD_SP_LOST;
    const int32_t size = (int32_t)((w->word >> 10 & 4095) << (bit(w, 22) ? 12 : 0));
    insn->sp_moved = bit(w, 30) ? -size : size;
}

static void set_registers(struct work *w)
{
    struct td_uop *uop = &w->insn->uop;

    for (int i = 0; i < 3; i++)
        uop->src[i] = i < w->src_count ? w->src[i] : TD_REG_NONE;
    for (int i = 0; i < 2; i++)
        uop->dst[i] = i < w->dst_count ? w->dst[i] : TD_REG_SINK;
}

static enum td_op_class class_of(const struct work *w)
{
    /* ror of a constant is an extract from one register. */
    if (w->form->class == TD_OP_SHIFT_DOUBLE && field(w, 5) == field(w, 16))
        return TD_OP_SHIFT;
    return (enum td_op_class)w->form->class;
}

/* Three operands without a load: the third is added to, and forwarded late between its like. */
static void set_forwarding(struct work *w, enum td_op_class class)
{
    const uint8_t cycles = w->decoder->desc->ops[class].forward;

    if (w->src_count == 3 && !w->form->access) {
        w->insn->uop.load_latency = cycles;
        w->insn->uop.forward = cycles & TD_FORWARD_MAX;
    }
}

/* How many floating-point numbers it computes, when it does: of the encodings' groups, "scalar
 * floating-point and Advanced SIMD" has one. */
static enum td_retired float_width(const struct work *w)
{
    return (w->word >> 24 & 0x1e) == 0x1e ? TD_RETIRED_FP_SCALAR : TD_RETIRED_FP_128;
}

static void decode(const struct td_decoder *decoder, const uint8_t *bytes, size_t size, uint64_t pc,
                   struct td_insn *insn)
{
    struct work w = {.decoder = decoder, .insn = insn};
    struct td_rd in = td_rd_init(bytes, size, 0);

    *insn = (struct td_insn){.branch = TD_BRANCH_NONE};
    w.word = td_rd_u32(&in);
    w.form = td_rd_ok(&in) ? find_form(decoder->state, w.word) : NULL;
    if (!w.form) {
        insn->unknown = true;
        td_decode_cost(decoder, TD_OP_MICROCODE, &insn->uop);
        td_decode_retired(TD_OP_MICROCODE, TD_RETIRED_OTHER, insn);
        set_registers(&w);
        return;
    }
    const enum td_op_class class = class_of(&w);
    td_decode_cost(decoder, class, &insn->uop);
    if (decoder->desc->ops[class].slots > 1)
        insn->uop.flags |= TD_UOP_HEAVY;
    read_registers(&w);
    write_registers(&w);
    set_forwarding(&w, class);
    set_memory(&w);
    set_branch(&w, pc);
    set_fusion(&w);
    follow_stack_pointer(&w);
    set_registers(&w);
    td_decode_retired(class, float_width(&w), insn);
}

const struct td_isa td_isa_a64 = {.name = "aarch64", .open = open_index, .decode = decode};

/* SPDX-License-Identifier: MIT */
/*
 * The modelled core of a description: sections [core], [pipeline], [fetch], [predict], [memory],
 * [tlb], [prefetch], [ports] and [ops] of a .uarch file (uarch.md). Plain numbers, ready to use.
 */
#ifndef TD_FORMATS_UARCH_CORE_H
#define TD_FORMATS_UARCH_CORE_H

#include <stdint.h>

#include "formats/uarch.h"

/* Rates that are no whole number of cycles are kept in ticks. */
#define TD_TICKS_PER_CYCLE 64

/* Every number of the core, once: X(section, key, unit, min, max, meaning). The unit is COUNT (a
 * whole number), CYCLES (whole) or TICKS (cycles in the file, decimals allowed). */
#define TD_CORE_FIELDS(X)                                                                       \
    X(core, mhz, COUNT, 1, 100000, "nominal clock, to turn cycles into time")                   \
    X(pipeline, width, COUNT, 1, 16, "slots a cycle: fused uops renamed and dispatched")        \
    X(pipeline, rob, COUNT, 16, 512, "reorder buffer, fused uops")                              \
    X(pipeline, scheduler, COUNT, 8, 1024, "uops waiting to issue")                             \
    X(pipeline, store_buffer, COUNT, 4, 256, "stores dispatched and not yet in L1")             \
    X(pipeline, load_buffer, COUNT, 4, 512, "loads dispatched and not yet retired")             \
    X(pipeline, refill, CYCLES, 1, 100, "from a branch's resolution to the first uop after it") \
    X(pipeline, resteer, CYCLES, 0, 100, "the part of refill that is the front end's resteer")  \
    X(pipeline, clear, CYCLES, 0, 200, "a machine clear, beyond the work thrown away")          \
    X(pipeline, fold_add_immediate, COUNT, 0, 1, "rename adds small immediates to registers")   \
    X(pipeline, rename_memory, COUNT, 0, 64, "stores back from which rename passes stack data") \
    X(pipeline, rmw_slots, COUNT, 1, 4, "slots of an instruction that loads, computes, stores") \
    X(pipeline, fuse_logic, COUNT, 0, 1, "or, xor fuse with a conditional jump too")            \
    X(fetch, l1i_kb, COUNT, 1, 1024, "instruction cache")                                       \
    X(fetch, l1i_ways, COUNT, 1, 31, "")                                                        \
    X(fetch, misses, COUNT, 1, 64, "instruction cache misses in flight")                        \
    X(fetch, uop_cache_lines, COUNT, 0, 65536, "lines of the uop cache, 0: none")               \
    X(fetch, uop_cache_ways, COUNT, 1, 31, "")                                                  \
    X(fetch, uop_cache_line_uops, COUNT, 1, 32, "uops a line of the uop cache holds")           \
    X(fetch, uop_cache_uop, TICKS, 1, 1024, "delivery of a uop from the uop cache")             \
    X(fetch, decode_uop, TICKS, 1, 1024, "delivery of a uop from the decoders")                 \
    X(fetch, decode_byte, TICKS, 0, 1024, "fetch of a byte of code for the decoders")           \
    X(fetch, decode_switch, CYCLES, 0, 20, "from the uop cache to the decoders")                \
    X(fetch, queue, COUNT, 8, 1024, "uops decoded and not yet dispatched")                      \
    X(fetch, ahead, COUNT, 1, 64, "blocks that prediction may be ahead of fetch")               \
    X(fetch, block, TICKS, 0, 1024, "prediction of one block of fetch")                         \
    X(fetch, loop, TICKS, 0, 1024, "the same, in a small loop that repeats")                    \
    X(predict, btb_lines, COUNT, 16, 65536, "branch targets known without delay")               \
    X(predict, btb_ways, COUNT, 1, 31, "")                                                      \
    X(predict, btb2_lines, COUNT, 16, 65536, "branch targets known with a delay")               \
    X(predict, btb2_ways, COUNT, 1, 31, "")                                                     \
    X(predict, btb2_delay, CYCLES, 0, 20, "of a target from the second level")                  \
    X(predict, unknown, CYCLES, 0, 50, "a direct branch whose target is only seen by decode")   \
    X(predict, override_delay, CYCLES, 0, 20, "a direction that the tagged tables correct")     \
    X(predict, indirect_delay, CYCLES, 0, 20, "an indirect target that changes with history")   \
    X(predict, returns, COUNT, 1, 64, "return stack")                                           \
    X(predict, base_bits, COUNT, 8, 18, "log2 of the bimodal table")                            \
    X(predict, table_bits, COUNT, 6, 16, "log2 of each tagged table")                           \
    X(memory, l1d_kb, COUNT, 1, 1024, "data cache")                                             \
    X(memory, l1d_ways, COUNT, 1, 31, "")                                                       \
    X(memory, l1d_latency, CYCLES, 1, 20, "load to use, integer")                               \
    X(memory, vector_latency, CYCLES, 0, 10, "more of it for a vector register")                \
    X(memory, index_latency, CYCLES, 0, 10, "more of it for a scaled index")                    \
    X(memory, l1d_misses, COUNT, 1, 64, "fill buffers")                                         \
    X(memory, l2_kb, COUNT, 16, 65536, "")                                                      \
    X(memory, l2_ways, COUNT, 1, 31, "")                                                        \
    X(memory, l2_latency, CYCLES, 5, 100, "load to use")                                        \
    X(memory, l2_line, TICKS, 0, 6400, "between two lines from L2 to L1")                       \
    X(memory, l2_misses, COUNT, 1, 128, "lines in flight beyond L2")                            \
    X(memory, l3_kb, COUNT, 64, 2097152, "the part one core can use")                           \
    X(memory, l3_ways, COUNT, 1, 31, "")                                                        \
    X(memory, l3_latency, CYCLES, 10, 500, "load to use")                                       \
    X(memory, l3_line, TICKS, 0, 6400, "between two lines from L3")                             \
    X(memory, dram_latency, CYCLES, 20, 5000, "load to use")                                    \
    X(memory, dram_line, TICKS, 0, 64000, "between two lines from memory")                      \
    X(memory, dram_write, TICKS, 0, 64000, "one line written back")                             \
    X(memory, forward, CYCLES, 0, 50, "load to use, from the store buffer")                     \
    X(memory, forward_blocked, CYCLES, 0, 100, "more, when a store covers part of a load")      \
    X(memory, alias_4k, CYCLES, 0, 50, "a load over a store 4096 bytes away")                   \
    X(memory, split, CYCLES, 0, 50, "a load over two lines")                                    \
    X(memory, string_bytes, COUNT, 1, 128, "moved a cycle by rep movs and rep stos")            \
    X(tlb, dtlb, COUNT, 8, 1024, "data TLB entries")                                            \
    X(tlb, dtlb_ways, COUNT, 1, 31, "")                                                         \
    X(tlb, itlb, COUNT, 8, 1024, "instruction TLB entries")                                     \
    X(tlb, itlb_ways, COUNT, 1, 31, "")                                                         \
    X(tlb, stlb, COUNT, 16, 8192, "second level, for both")                                     \
    X(tlb, stlb_ways, COUNT, 1, 31, "")                                                         \
    X(tlb, stlb_latency, CYCLES, 0, 50, "")                                                     \
    X(tlb, walk, CYCLES, 0, 500, "a page walk whose entry is in L2")                            \
    X(tlb, walkers, COUNT, 1, 8, "page walks at once")                                          \
    X(prefetch, stride, COUNT, 0, 32, "strides ahead by instruction, into L1; 0: none")         \
    X(prefetch, l1_stream, COUNT, 0, 32, "lines ahead of a rising stream, into L1; 0: none")    \
    X(prefetch, l2_stream, COUNT, 0, 64, "lines ahead of a stream, into L2; 0: none")           \
    X(prefetch, l2_degree, COUNT, 0, 8, "lines asked for at a time by it")                      \
    X(prefetch, l2_pair, COUNT, 0, 1, "the other line of a pair, into L2")

/* What an instruction is, as far as its cost goes: X(symbol, name, meaning). Decoders map forms to
 * these, [ops] gives each its cost. */
#define TD_OP_CLASSES(X)                                               \
    X(NOP, nop, "takes a slot, executes nothing")                      \
    X(ALU, alu, "add, sub, and, or, xor, cmp, test, mov of constants") \
    X(MOVE, move, "register move that is not eliminated")              \
    X(ADC, adc, "add and subtract with carry")                         \
    X(LEA, lea, "address of at most two parts")                        \
    X(LEA3, lea3, "address of three parts")                            \
    X(SHIFT, shift, "shift and rotate by a constant, BMI2 shifts")     \
    X(SHIFT_CL, shift_cl, "shift by cl")                               \
    X(SHIFT_DOUBLE, shift_double, "shld, shrd")                        \
    X(MUL, mul, "two-operand multiply")                                \
    X(MUL_WIDE, mul_wide, "multiply with two results")                 \
    X(DIV32, div32, "divide, 32 bits and less")                        \
    X(DIV64, div64, "divide, 64 bits")                                 \
    X(BITS, bits, "popcnt, lzcnt, tzcnt, bsf, bsr")                    \
    X(BIT_TEST, bit_test, "bt, bts, btr, btc")                         \
    X(BMI, bmi, "andn, bextr, blsr, bzhi")                             \
    X(PDEP, pdep, "pdep, pext")                                        \
    X(CRC, crc, "crc32")                                               \
    X(CMOV, cmov, "conditional move")                                  \
    X(SETCC, setcc, "set byte on condition")                           \
    X(BSWAP, bswap, "byte swap")                                       \
    X(XCHG, xchg, "exchange of registers")                             \
    X(FLAGS, flags, "lahf, sahf, cmc, clc, stc, cld")                  \
    X(BRANCH, branch, "conditional jump")                              \
    X(JUMP, jump, "jump, direct or not")                               \
    X(CALL, call, "call")                                              \
    X(RET, ret, "return")                                              \
    X(LOCKED, locked, "atomic read-modify-write")                      \
    X(VMOVE, vmove, "vector register move that is not eliminated")     \
    X(VLOGIC, vlogic, "vector and, or, xor")                           \
    X(VINT, vint, "vector integer add, compare, min, max")             \
    X(VSHIFT, vshift, "vector shift")                                  \
    X(VMUL, vmul, "vector integer multiply")                           \
    X(VMUL32, vmul32, "vector multiply of 32-bit elements, low half")  \
    X(VSAD, vsad, "psadbw")                                            \
    X(VSHUF, vshuf, "shuffle within 128 bits")                         \
    X(VSHUF_LANE, vshuf_lane, "shuffle over 128 bits")                 \
    X(VBLEND, vblend, "blend")                                         \
    X(VBLENDV, vblendv, "blend by a register")                         \
    X(FADD, fadd, "floating add, subtract, min, max")                  \
    X(FMUL, fmul, "floating multiply")                                 \
    X(FMA, fma, "fused multiply-add")                                  \
    X(FHADD, fhadd, "horizontal add")                                  \
    X(FDIV32, fdiv32, "floating divide, single")                       \
    X(FDIV64, fdiv64, "floating divide, double")                       \
    X(FSQRT32, fsqrt32, "square root, single")                         \
    X(FSQRT64, fsqrt64, "square root, double")                         \
    X(FRCP, frcp, "approximate reciprocal")                            \
    X(FCMP, fcmp, "compare into a mask or min/max")                    \
    X(FCOMI, fcomi, "compare into flags")                              \
    X(FROUND, fround, "round to integral")                             \
    X(CVT, cvt, "conversion between vector types")                     \
    X(CVT_FROM_GPR, cvt_from_gpr, "integer register to floating")      \
    X(CVT_TO_GPR, cvt_to_gpr, "floating to integer register")          \
    X(MOV_FROM_GPR, mov_from_gpr, "integer register to vector")        \
    X(MOV_TO_GPR, mov_to_gpr, "vector to integer register")            \
    X(MOVMSK, movmsk, "sign bits to integer register")                 \
    X(PTEST, ptest, "vector test into flags")                          \
    X(PINSR, pinsr, "insert from integer register")                    \
    X(PEXTR, pextr, "extract to integer register")                     \
    X(AES, aes, "AES round")                                           \
    X(CLMUL, clmul, "carry-less multiply")                             \
    X(SHA, sha, "SHA rounds")                                          \
    X(PCMPSTR, pcmpstr, "SSE4.2 string compare")                       \
    X(GATHER, gather, "gather")                                        \
    X(MASKMOV, maskmov, "masked vector load or store")                 \
    X(X87, x87, "x87 move, compare")                                   \
    X(X87_ADD, x87_add, "x87 add, subtract")                           \
    X(X87_MUL, x87_mul, "x87 multiply")                                \
    X(X87_DIV, x87_div, "x87 divide, square root")                     \
    X(X87_LONG, x87_long, "x87 transcendental and other microcode")    \
    X(STRING, string, "start of a repeated string instruction")        \
    X(STRING_ONE, string_one, "string instruction, not repeated")      \
    X(FENCE, fence, "fence")                                           \
    X(SERIAL, serial, "serializing instruction")                       \
    X(PAUSE, pause, "spin hint")                                       \
    X(CLOCK, clock, "rdtsc")                                           \
    X(SYSCALL, syscall, "system call")                                 \
    X(MICROCODE, microcode, "anything else from the microcode ROM")

enum td_op_class {
#define X(symbol, name, meaning) TD_OP_##symbol,
    TD_OP_CLASSES(X)
#undef X
        TD_OP_COUNT
};

/* What one instruction of a class costs; a line of [ops]. */
struct td_op_cost {
    uint8_t slots;   /* fused uops dispatched */
    uint8_t latency; /* cycles from its operands to its result */
    uint8_t busy;    /* cycles its unit takes no other; 0: pipelined */
    uint16_t ports;  /* bit set of [ports] letters; 0: none */
    uint16_t extra;  /* ports of a second uop; 0: none */
};

struct td_core_desc {
    char name[32];
    char title[64];
    char isa[16];
#define X(section, key, unit, min, max, meaning) int key;
    TD_CORE_FIELDS(X)
#undef X
    uint16_t load_ports, store_address_ports, store_data_ports;
    struct td_op_cost ops[TD_OP_COUNT];
};

/* Fills *ret from the description. Fails naming the line when a field is missing, unknown, twice
 * or out of range. */
int td_core_desc_read(struct td_core_desc *ret, const struct td_uarch *uarch, struct td_err *err);
/* The built-in core of this name. Fails with TD_ENOENT and the names there are. */
int td_core_desc_builtin(struct td_core_desc *ret, const char *name, struct td_err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The modelled core of a description: sections [core], [pipeline], [fetch], [predict], [memory],
 * [tlb], [prefetch], [ports] and [ops] of a .uarch file (uarch.md). Plain numbers, ready to use.
 */
#ifndef TD_FORMATS_CORES_CORE_H
#define TD_FORMATS_CORES_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/uarch.h"

/* Rates that are no whole number of cycles are kept in ticks. */
#define TD_TICKS_PER_CYCLE 64

/* Every number of the core, once: X(section, key, unit, min, max, meaning). The unit is COUNT (a
 * whole number), CYCLES (whole) or TICKS (cycles in the file, decimals allowed). */
#define TD_CORE_FIELDS(X)                                                                         \
    X(core, mhz, COUNT, 1, 100000, "nominal clock, to turn cycles into time")                     \
    X(pipeline, width, COUNT, 1, 16, "slots a cycle: fused uops renamed and dispatched")          \
    X(pipeline, rob, COUNT, 16, 512, "reorder buffer, fused uops")                                \
    X(pipeline, scheduler, COUNT, 8, 1024, "uops waiting to issue")                               \
    X(pipeline, scheduler_memory, COUNT, 0, 1024, "the same of loads and stores; 0: one for all") \
    X(pipeline, scheduler_vector, COUNT, 0, 1024, "the same of [ports] vector; 0: one for all")   \
    X(pipeline, vector_queue, COUNT, 0, 1024, "uops that wait for a place in that, in order")     \
    X(pipeline, vector_queue_delay, CYCLES, 0, 10,                                                \
      "from a place in that to issue, for who waited")                                            \
    X(pipeline, vector_store_waits, COUNT, 0, 1, "1: data of a vector's store wait there, too")   \
    X(pipeline, registers, COUNT, 0, 512, "results not retired in general registers; 0: any")     \
    X(pipeline, registers_vector, COUNT, 0, 512, "the same in vector registers")                  \
    X(pipeline, reuse_delay, CYCLES, 0, 20,                                                       \
      "from retirement to who takes the place, the register")                                     \
    X(pipeline, store_buffer, COUNT, 4, 256, "stores dispatched and not yet in L1")               \
    X(pipeline, load_buffer, COUNT, 4, 512, "loads dispatched and not yet retired")               \
    X(pipeline, refill, CYCLES, 1, 100, "from a branch's resolution to the first uop after it")   \
    X(pipeline, resteer, CYCLES, 0, 100, "the part of refill that is the front end's resteer")    \
    X(pipeline, clear, CYCLES, 0, 200, "a machine clear, beyond the work thrown away")            \
    X(pipeline, fold_add_immediate, COUNT, 0, 1, "rename adds small constants, of 64 bits")       \
    X(pipeline, fold_shift, CYCLES, 0, 5, "more of a shift of what rename has added to")          \
    X(pipeline, byte_moves, COUNT, 0, 1, "rename moves a byte with zeros before it")              \
    X(pipeline, rename_memory, COUNT, 0, 64, "stores back from which rename passes data")         \
    X(pipeline, rename_any, COUNT, 0, 3, "0: only the stack's; 1: any; 2, 3: see uarch.md")       \
    X(pipeline, rename_loads, COUNT, 0, 1024, "loads not of the stack that it keeps; 0: all")     \
    X(pipeline, rename_trust, COUNT, 0, 1024, "runs before it passes data by another address")    \
    X(pipeline, rename_pause, CYCLES, 0, 8, "between two stores that it passes on")               \
    X(pipeline, stack_sync, CYCLES, 0, 5,                                                         \
      "more of an add to the stack pointer after push or call")                                   \
    X(pipeline, lock_hold, CYCLES, 0, 100, "that a locked instruction is the oldest for")         \
    X(pipeline, lock_after_store, CYCLES, 0, 50, "more of that after a store before it")          \
    X(pipeline, rmw_slots, COUNT, 1, 4, "slots of an instruction that loads, computes, stores")   \
    X(pipeline, rmw_address, COUNT, 0, 1, "1: of these the store needs no port for its address")  \
    X(pipeline, joined_slots, COUNT, 0, 4, "of what joins three things, see uarch.md; 0: one")    \
    X(pipeline, access_moves, COUNT, 0, 1, "1: what an access cannot do is a move, too")          \
    X(pipeline, whole_slots, COUNT, 0, 1, "1: an instruction's slots are all of one cycle")       \
    X(pipeline, whole_groups, COUNT, 0, 1, "1: a group that waits is not filled up")              \
    X(pipeline, call_ends_group, COUNT, 0, 1, "1: nothing follows a call in its cycle")           \
    X(pipeline, port_result, COUNT, 0, 1, "1: where it multiplies, one result a cycle")           \
    X(pipeline, wide_divider, COUNT, 0, 1, "a divide of 256 bits takes no longer than of 128")    \
    X(pipeline, fuse_logic, COUNT, 0, 1, "or, xor fuse with a conditional jump too")              \
    X(pipeline, wakes_early, COUNT, 0, 9,                                                         \
      "ports that a uop takes at most before its operand had one")                                \
    X(pipeline, sbb_by_carry, COUNT, 0, 1,                                                        \
      "sbb of a register and itself waits only for the carry")                                    \
    X(pipeline, popcnt_waits, COUNT, 0, 1, "popcnt waits for what it overwrites")                 \
    X(fetch, l1i_kb, COUNT, 1, 1024, "instruction cache")                                         \
    X(fetch, l1i_ways, COUNT, 1, 31, "")                                                          \
    X(fetch, misses, COUNT, 1, 64, "instruction cache misses in flight")                          \
    X(fetch, fill, CYCLES, 0, 64, "between two lines into the instruction cache")                 \
    X(fetch, uop_cache_lines, COUNT, 0, 65536, "lines of the uop cache, 0: none")                 \
    X(fetch, uop_cache_ways, COUNT, 1, 31, "")                                                    \
    X(fetch, uop_cache_line_uops, COUNT, 1, 32, "uops a line of the uop cache holds")             \
    X(fetch, uop_cache_uop, TICKS, 1, 1024, "delivery of a uop from the uop cache")               \
    X(fetch, uop_cache_line, TICKS, 0, 1024, "delivery of its line, full or not; 0: by uops")     \
    X(fetch, uop_cache_group, COUNT, 0, 255, "lines of a run that one look finds; 0: all")        \
    X(fetch, uop_cache_pause, CYCLES, 0, 16, "between two looks for the same run")                \
    X(fetch, uop_cache_taken, COUNT, 0, 1, "1: what a jump goes to comes in another cycle")       \
    X(fetch, call_waits, COUNT, 0, 1, "1: what a call through memory goes to waits for the call") \
    X(fetch, decode_uop, TICKS, 1, 1024, "delivery of a uop from the decoders")                   \
    X(fetch, decode_byte, TICKS, 0, 1024, "fetch of a byte of code for the decoders")             \
    X(fetch, decode_taken, COUNT, 0, 1, "1: what a jump goes to is decoded in another cycle")     \
    X(fetch, decode_switch, CYCLES, 0, 20, "from the uop cache to the decoders")                  \
    X(fetch, queue, COUNT, 8, 1024, "uops decoded and not yet dispatched")                        \
    X(fetch, ahead, COUNT, 1, 64, "blocks that prediction may be ahead of fetch")                 \
    X(fetch, lead, CYCLES, 0, 255, "by which prediction is ahead of delivery when it restarts")   \
    X(fetch, block, TICKS, 0, 1024, "prediction of one block of fetch")                           \
    X(fetch, block_next, TICKS, 0, 1024, "the same, of a line of code that follows; 0: as block") \
    X(fetch, loop, TICKS, 0, 1024, "the same, in a small loop that repeats; if more, its jump's") \
    X(predict, btb_lines, COUNT, 16, 65536, "branch targets known without delay")                 \
    X(predict, btb_ways, COUNT, 1, 31, "")                                                        \
    X(predict, btb2_lines, COUNT, 16, 65536, "branch targets known with a delay")                 \
    X(predict, btb2_ways, COUNT, 1, 31, "")                                                       \
    X(predict, btb2_delay, CYCLES, 0, 20, "of a target from the second level")                    \
    X(predict, unknown, CYCLES, 0, 50, "a direct branch whose target is only seen by decode")     \
    X(predict, override_delay, CYCLES, 0, 20, "a direction that the tagged tables correct")       \
    X(predict, indirect_delay, CYCLES, 0, 20, "an indirect target that changes with history")     \
    X(predict, indirect_block, TICKS, 0, 1024,                                                    \
      "prediction of an indirect branch, beyond a jump's")                                        \
    X(predict, far_delay, CYCLES, 0, 20, "an indirect branch between program and library")        \
    X(predict, indirect_history, COUNT, 1, 64, "bits of path that indirect prediction sees")      \
    X(predict, call_delay, CYCLES, 0, 20, "prediction of a call, beyond a jump's")                \
    X(predict, return_delay, CYCLES, 0, 20, "the same of a return")                               \
    X(predict, returns, COUNT, 1, 64, "return stack")                                             \
    X(predict, base_bits, COUNT, 8, 18, "log2 of the bimodal table")                              \
    X(predict, table_bits, COUNT, 6, 16, "log2 of each tagged table")                             \
    X(memory, l1d_kb, COUNT, 1, 1024, "data cache")                                               \
    X(memory, l1d_ways, COUNT, 1, 31, "")                                                         \
    X(memory, l1d_lru, COUNT, 0, 1, "1: what was used least recently gives way")                  \
    X(memory, l1d_latency, CYCLES, 1, 20, "load to use, integer")                                 \
    X(memory, vector_latency, CYCLES, 0, 10, "more of it for a vector register")                  \
    X(memory, index_latency, CYCLES, 0, 10, "more of it for a scaled index")                      \
    X(memory, extend_latency, CYCLES, 0, 10, "more of it when the sign is extended")              \
    X(memory, zero_latency, CYCLES, 0, 10, "more of it when bytes or words get zeros")            \
    X(memory, l1d_misses, COUNT, 1, 64, "fill buffers")                                           \
    X(memory, l2_kb, COUNT, 16, 65536, "")                                                        \
    X(memory, l2_ways, COUNT, 1, 31, "")                                                          \
    X(memory, l2_latency, CYCLES, 5, 100, "load to use")                                          \
    X(memory, l2_line, TICKS, 0, 6400, "between two lines from L2 to L1")                         \
    X(memory, l2_misses, COUNT, 1, 128, "lines in flight beyond L2")                              \
    X(memory, l3_kb, COUNT, 64, 2097152, "the part one core can use")                             \
    X(memory, l3_ways, COUNT, 1, 31, "")                                                          \
    X(memory, l3_latency, CYCLES, 10, 500, "load to use")                                         \
    X(memory, l3_victim, COUNT, 0, 1, "1: lines that leave L2 go to it")                          \
    X(memory, l3_neighbour, CYCLES, 0, 100000, "between two lines of other cores; 0: none")       \
    X(memory, l3_line, TICKS, 0, 6400, "between two lines from L3")                               \
    X(memory, transfer, CYCLES, 10, 2000, "load to use, from another core that has changed it")   \
    X(memory, dram_latency, CYCLES, 20, 5000, "load to use")                                      \
    X(memory, dram_line, TICKS, 0, 64000, "between two lines from memory")                        \
    X(memory, dram_shared, TICKS, 0, 64000, "the same of all cores together; 0: no limit known")  \
    X(memory, dram_write, TICKS, 0, 64000, "one line written back")                               \
    X(memory, forward, CYCLES, 0, 50, "load to use, from the store buffer")                       \
    X(memory, forward_waits, CYCLES, 0, 50, "more, when the load waited for the store's address") \
    X(memory, forward_meets, CYCLES, 0, 50, "more, when both addresses are known at once")        \
    X(memory, forward_blocked, CYCLES, 0, 100, "more, when a store covers part of a load")        \
    X(memory, alias_4k, CYCLES, 0, 50, "a load over a store 4096 bytes away")                     \
    X(memory, store_crowded, CYCLES, 0, 100,                                                      \
      "between stores whose lines push each other out of L1")                                     \
    X(memory, store_block, COUNT, 0, 64, "two stores to it enter L1 in a cycle; 0: any two")      \
    X(memory, vector_pair, COUNT, 0, 1, "two vector stores to a line go to L1 in one cycle")      \
    X(memory, split, CYCLES, 0, 50, "a load over two lines")                                      \
    X(memory, string_bytes, COUNT, 1, 128, "moved a cycle by rep movs and rep stos")              \
    X(memory, string_start, CYCLES, 0, 200, "before rep movs, stos, scas, cmps do anything")      \
    X(memory, string_scan, TICKS, 0, 640, "an element of rep scas and rep cmps")                  \
    X(tlb, dtlb, COUNT, 8, 1024, "data TLB entries")                                              \
    X(tlb, dtlb_ways, COUNT, 1, 31, "")                                                           \
    X(tlb, itlb, COUNT, 8, 1024, "instruction TLB entries")                                       \
    X(tlb, itlb_ways, COUNT, 1, 31, "")                                                           \
    X(tlb, itlb2, COUNT, 0, 8192, "second level of its own for code; 0: shares stlb")             \
    X(tlb, itlb2_ways, COUNT, 1, 31, "")                                                          \
    X(tlb, stlb, COUNT, 16, 8192, "second level, for data")                                       \
    X(tlb, stlb_ways, COUNT, 1, 31, "")                                                           \
    X(tlb, stlb_latency, CYCLES, 0, 50, "")                                                       \
    X(tlb, walk, CYCLES, 0, 500, "a page walk whose entry is in L2")                              \
    X(tlb, nested, COUNT, 0, 1, "1: a virtual machine: walks go through the host's table, too")   \
    X(tlb, first_touch, COUNT, 0, 1, "1: the kernel has just cleared a page seen first: in L2")   \
    X(tlb, page_fault, CYCLES, 0, 5000, "user cycles of the page fault of the first store to it") \
    X(tlb, page_fault_load, CYCLES, 0, 5000, "the same of a first load")                          \
    X(tlb, fault_lines, COUNT, 0, 4096, "of L1, that the kernel uses in a page fault")            \
    X(tlb, fault_pages, COUNT, 0, 256, "of the first level, that it uses there")                  \
    X(tlb, walkers, COUNT, 1, 8, "page walks at once")                                            \
    X(prefetch, stride, COUNT, 0, 32, "strides ahead by instruction, into L1; 0: none")           \
    X(prefetch, next_page, COUNT, 0, 1, "strides go on in a page that the TLBs do not hold")      \
    X(prefetch, l1_stream, COUNT, 0, 32, "lines ahead of a rising stream, into L1; 0: none")      \
    X(prefetch, l1_falling, COUNT, 0, 1, "1: of a falling one, too")                              \
    X(prefetch, l2_stream, COUNT, 0, 64, "lines ahead of a stream, into L2; 0: none")             \
    X(prefetch, l2_step, COUNT, 1, 32, "lines from one to the next that a stream may have")       \
    X(prefetch, l2_degree, COUNT, 0, 8, "lines asked for at a time by it")                        \
    X(prefetch, l2_far, COUNT, 0, 256, "lines ahead of a long stream, into L2; 0: as of a short") \
    X(prefetch, l2_far_after, COUNT, 0, 4096, "lines after which a stream is long")               \
    X(prefetch, l2_next, COUNT, 0, 1, "the line after the first of a page, into L2")              \
    X(prefetch, l2_pair, COUNT, 0, 1, "the other line of a pair, into L2")

/* What an instruction is, as far as its cost goes: X(symbol, name, isa, meaning). Decoders map
 * forms to these, [ops] gives each its cost. A class of one instruction set (X86, A64) stands only
 * in descriptions of that set. */
#define TD_OP_CLASSES(X)                                                                       \
    X(NOP, nop, ANY, "takes a slot, executes nothing")                                         \
    X(ALU, alu, ANY, "add, sub, and, or, xor, cmp, test, mov of constants")                    \
    X(MOVE, move, ANY, "register move that is not eliminated")                                 \
    X(ADC, adc, ANY, "add and subtract with carry")                                            \
    X(LEA, lea, X86, "address of at most two parts")                                           \
    X(LEA3, lea3, X86, "address of three parts")                                               \
    X(LEA_SCALED, lea_scaled, X86, "address with a scaled index")                              \
    X(EXTEND, extend, X86, "movsx of a register")                                              \
    X(SIGN, sign, X86, "cdq, cqo: the sign in all bits")                                       \
    X(SHIFT, shift, ANY, "shift and rotate; by a constant on x86, BMI2 shifts")                \
    X(SHIFT_CL, shift_cl, X86, "shift by cl")                                                  \
    X(ROTATE_CARRY, rotate_carry, X86, "rcl, rcr by more than one")                            \
    X(SHIFT_DOUBLE, shift_double, ANY, "shld, shrd, extr")                                     \
    X(MUL, mul, ANY, "two-operand multiply")                                                   \
    X(MUL_WIDE, mul_wide, ANY, "multiply with two results, high half of a product")            \
    X(DIV32, div32, ANY, "divide, 32 bits and less")                                           \
    X(DIV64, div64, ANY, "divide, 64 bits")                                                    \
    X(BITS, bits, ANY, "popcnt, lzcnt, tzcnt, bsf, bsr, clz, rbit, rev")                       \
    X(BIT_TEST, bit_test, X86, "bt, bts, btr, btc")                                            \
    X(BIT_SET, bit_set, X86, "bts, btr, btc")                                                  \
    X(BMI, bmi, X86, "andn, bextr, blsr, bzhi")                                                \
    X(PDEP, pdep, X86, "pdep, pext")                                                           \
    X(CRC, crc, ANY, "crc32")                                                                  \
    X(CMOV, cmov, ANY, "conditional move, select")                                             \
    X(CMOV_SIGN, cmov_sign, X86, "the same by sign and overflow: l, ge, le, g")                \
    X(CMOV_CARRY, cmov_carry, X86, "the same by carry and zero: be, a")                        \
    X(SETCC, setcc, X86, "set byte on condition")                                              \
    X(SETCC_CARRY, setcc_carry, X86, "the same by carry and zero: be, a")                      \
    X(BSWAP, bswap, X86, "byte swap")                                                          \
    X(XCHG, xchg, X86, "exchange of registers")                                                \
    X(FLAGS, flags, ANY, "moves to and from the flags")                                        \
    X(BRANCH, branch, ANY, "conditional jump")                                                 \
    X(LOOP, loop, X86, "loop: count down and jump")                                            \
    X(JUMP, jump, ANY, "jump, direct or not")                                                  \
    X(CALL, call, ANY, "call")                                                                 \
    X(RET, ret, ANY, "return")                                                                 \
    X(LOCKED, locked, ANY, "atomic read-modify-write")                                         \
    X(VMOVE, vmove, ANY, "vector register move that is not eliminated")                        \
    X(VLOGIC, vlogic, ANY, "vector and, or, xor; x86: integer add, subtract")                  \
    X(VINT, vint, ANY, "vector integer compare, min, max; others: add")                        \
    X(VSHIFT, vshift, ANY, "vector shift")                                                     \
    X(VMUL, vmul, ANY, "vector integer multiply")                                              \
    X(VMUL32, vmul32, X86, "vector multiply of 32-bit elements, low half")                     \
    X(VSAD, vsad, X86, "psadbw")                                                               \
    X(VSHUF, vshuf, ANY, "shuffle within 128 bits")                                            \
    X(VSHUF_BYTE, vshuf_byte, X86, "shuffle of bytes, shift by bytes")                         \
    X(VSHUF_LANE, vshuf_lane, X86, "shuffle over 128 bits")                                    \
    X(VBROADCAST, vbroadcast, X86, "broadcast, insertion of 128 bits")                         \
    X(VBLEND, vblend, X86, "blend")                                                            \
    X(VBLENDV, vblendv, X86, "blend by a register")                                            \
    X(FADD, fadd, ANY, "floating add, subtract, min, max")                                     \
    X(FMUL, fmul, ANY, "floating multiply")                                                    \
    X(FMA, fma, ANY, "fused multiply-add")                                                     \
    X(FHADD, fhadd, X86, "horizontal add")                                                     \
    X(FDIV32, fdiv32, ANY, "floating divide, single")                                          \
    X(FDIV64, fdiv64, ANY, "floating divide, double")                                          \
    X(FSQRT32, fsqrt32, ANY, "square root, single")                                            \
    X(FSQRT64, fsqrt64, ANY, "square root, double")                                            \
    X(FRCP, frcp, ANY, "approximate reciprocal")                                               \
    X(FCMP, fcmp, ANY, "compare into a mask or min/max")                                       \
    X(FCOMI, fcomi, ANY, "compare into flags")                                                 \
    X(FROUND, fround, ANY, "round to integral")                                                \
    X(CVT, cvt, ANY, "conversion between vector types")                                        \
    X(CVT_FROM_GPR, cvt_from_gpr, ANY, "integer register to floating")                         \
    X(CVT_TO_GPR, cvt_to_gpr, ANY, "floating to integer register")                             \
    X(MOV_FROM_GPR, mov_from_gpr, ANY, "integer register to vector")                           \
    X(MOV_MERGE, mov_merge, X86, "the same of SSE: it keeps what is above 128 bits")           \
    X(MOV_TO_GPR, mov_to_gpr, ANY, "vector to integer register")                               \
    X(MOVMSK, movmsk, X86, "sign bits to integer register")                                    \
    X(MOVMSK_WIDE, movmsk_wide, X86, "the same of 256 bits")                                   \
    X(PTEST, ptest, X86, "vector test into flags")                                             \
    X(PINSR, pinsr, ANY, "insert from integer register")                                       \
    X(PEXTR, pextr, X86, "extract to integer register")                                        \
    X(AES, aes, ANY, "AES round")                                                              \
    X(CLMUL, clmul, ANY, "carry-less multiply")                                                \
    X(SHA, sha, ANY, "SHA rounds")                                                             \
    X(PCMPSTR, pcmpstr, X86, "SSE4.2 string compare")                                          \
    X(GATHER, gather, ANY, "gather")                                                           \
    X(MASKMOV, maskmov, X86, "masked vector load or store")                                    \
    X(X87, x87, X86, "x87 move, compare")                                                      \
    X(X87_ADD, x87_add, X86, "x87 add, subtract")                                              \
    X(X87_MUL, x87_mul, X86, "x87 multiply")                                                   \
    X(X87_DIV, x87_div, X86, "x87 divide, square root")                                        \
    X(X87_LONG, x87_long, X86, "x87 transcendental and other microcode")                       \
    X(STRING, string, X86, "start of a repeated string instruction")                           \
    X(STRING_ONE, string_one, X86, "string instruction, not repeated")                         \
    X(FENCE, fence, ANY, "fence")                                                              \
    X(SERIAL, serial, ANY, "serializing instruction")                                          \
    X(PAUSE, pause, X86, "spin hint")                                                          \
    X(CLOCK, clock, ANY, "rdtsc, reads of the counter")                                        \
    X(SYSCALL, syscall, ANY, "system call")                                                    \
    X(MICROCODE, microcode, ANY, "anything else from the microcode ROM; what is unknown")      \
    X(ALU_FLAGS, alu_flags, A64, "add, subtract, and that set the flags; conditional compare") \
    X(ALU_SHIFT, alu_shift, A64, "the same with an extended or far shifted operand")           \
    X(BITFIELD, bitfield, A64, "insert of a bit field")                                        \
    X(MADD, madd, A64, "multiply and add, integer")                                            \
    X(PAC, pac, A64, "sign or authenticate a pointer")                                         \
    X(SYSTEM, system, A64, "moves to and from system registers")                               \
    X(VSHIFT_LONG, vshift_long, A64, "vector shift that rounds, saturates or accumulates")     \
    X(VMULL, vmull, A64, "vector multiply to wider elements")                                  \
    X(VDOT, vdot, A64, "vector dot product")                                                   \
    X(VREDUCE, vreduce, A64, "reduction over the elements of a vector")                        \
    X(VTABLE, vtable, A64, "table lookup in three or four registers")                          \
    X(PREDICATE, predicate, A64, "operation on predicates")

enum td_op_class {
#define X(symbol, name, op_isa, meaning) TD_OP_##symbol,
    TD_OP_CLASSES(X)
#undef X
        TD_OP_COUNT
};

#define TD_FORWARD_MAX 3

/* What one instruction of a class costs; a line of [ops]. */
struct td_op_cost {
    uint8_t slots;   /* fused uops dispatched */
    uint8_t latency; /* cycles from its operands to its result */
    uint8_t busy;    /* cycles its unit takes no other; 0: pipelined */
    uint8_t forward; /* cycles by which its like has the result earlier, TD_FORWARD_MAX at most */
    uint16_t ports;  /* bit set of [ports] letters; 0: none */
    uint16_t extra;  /* ports of a second uop; 0: none */
};

#define TD_LRU_WAYS_MAX    16 /* of a cache in the order of use (l1d_lru) */
#define TD_DISPATCH_LIMITS 6
#define TD_DISPATCH_MOST   7 /* of a limit */
#define TD_DISPATCH_BANKS  2
#define TD_BANK_PORTS      6
#define TD_BIND_PORTS      4 /* of a bank that chooses by what waits */

/* How dispatch chooses between ports with a queue each.
 * X(symbol, word of [dispatch], ports at least, at most, whether it may say the queues' places)
 * FEWEST: where the fewest wait, the first of these when there are more, of those that none of the
 * cycle's uops was put into. PAIR: the first two have a scheduler and the last two: it is that in
 * which fewer wait, by turns when these are equal, and there the port where the fewest do, whatever
 * the cycle's others have. SPREAD: any that none of the cycle's uops was put into. */
#define TD_BANK_RULES(X)                                  \
    X(FEWEST, "bind", TD_BIND_PORTS, TD_BIND_PORTS, true) \
    X(PAIR, "pair", TD_BIND_PORTS, TD_BIND_PORTS, false)  \
    X(SPREAD, "spread", 2, TD_BANK_PORTS, false)

enum td_bank_rule {
#define X(symbol, word, least, most, places) TD_BANK_##symbol,
    TD_BANK_RULES(X)
#undef X
        TD_BANK_RULE_COUNT
};

/* What the uops of one cycle of dispatch are to each other; section [dispatch], which a core need
 * not have. */
struct td_dispatch {
    /* Of the uops that go to these ports no more are dispatched in a cycle. */
    struct td_dispatch_limit {
        uint16_t ports;
        uint16_t most;
    } limits[TD_DISPATCH_LIMITS];
    uint32_t limit_count;
    /* Ports with a queue each: dispatch puts a uop into one of them. */
    struct td_dispatch_bank {
        uint8_t ports[TD_BANK_PORTS];
        uint8_t count;
        uint8_t places; /* of each queue; 0: any number */
        enum td_bank_rule rule;
    } banks[TD_DISPATCH_BANKS];
    uint32_t bank_count;
};

/* What never is in the way of a varied core (variant.h). No description file says it. */
enum td_core_perfect {
    TD_PERFECT_BRANCHES = 1 << 0,
    TD_PERFECT_L1 = 1 << 1,
    TD_PERFECT_L2 = 1 << 2,
    TD_PERFECT_L3 = 1 << 3, /* all that misses L2 is in it */
    TD_PERFECT_TLB = 1 << 4,
    TD_PERFECT_ICACHE = 1 << 5,
    TD_PERFECT_PORTS = 1 << 6,
    TD_PERFECT_FRONTEND = 1 << 7,
};

#define TD_CORE_NAME_MAX 96 /* with what is changed in it, and the end */

struct td_core_desc {
    char name[TD_CORE_NAME_MAX];
    char title[64];
    char isa[16];
#define X(section, key, unit, min, max, meaning) int key;
    TD_CORE_FIELDS(X)
#undef X
    uint16_t load_ports, store_address_ports, store_data_ports;
    uint16_t load_vector_ports; /* of those, what loads of vector registers use */
    uint16_t vector_ports;      /* of the uops of scheduler_vector; 0: not said */
    struct td_dispatch dispatch;
    struct td_op_cost ops[TD_OP_COUNT];
    uint32_t perfect; /* a set of enum td_core_perfect; 0: a core that can be */
};

/* Fills *ret from the description. Fails naming the line when a field is missing, unknown, twice
 * or out of range. */
int td_core_desc_read(struct td_core_desc *ret, const struct td_uarch *uarch, struct td_err *err);
/* The same from the terminated text of a file. */
int td_core_desc_text(struct td_core_desc *ret, const char *text, struct td_err *err);
/* Puts another value, written as in a description, into a number of [pipeline] to [prefetch].
 * TD_EUSAGE when there is none of that key, the value is out of range, or no core can be made of
 * it; *desc is then as before. */
int td_core_desc_set(struct td_core_desc *desc, const char *key, const char *value,
                     struct td_err *err);
/* Whether branches come out alike on both. */
bool td_core_desc_predicts_alike(const struct td_core_desc *a, const struct td_core_desc *b);
/* Whether their caches, TLBs and prefetchers of L2 are alike: how many lines, not how fast. */
bool td_core_desc_warms_alike(const struct td_core_desc *a, const struct td_core_desc *b);
/* The built-in core of this name; of NAME+WORDS a variant (variant.h). Fails with TD_ENOENT and the
 * names there are, or as td_variant_apply. */
int td_core_desc_builtin(struct td_core_desc *ret, const char *name, struct td_err *err);

#endif

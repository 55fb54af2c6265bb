/* SPDX-License-Identifier: MIT */
/* The processors whose programs can be emulated and modelled: one row of a table each. */
#ifndef TD_RECORD_SIM_SHARE_GUEST_H
#define TD_RECORD_SIM_SHARE_GUEST_H

#include <stdint.h>

struct td_guest {
    const char *name;     /* as the kernel's, QEMU's and a core description's: "x86_64" */
    const char *title;    /* for people: "x86-64" */
    uint16_t machine;     /* e_machine of its programs */
    const char *emulator; /* "qemu-x86_64" */
    const char *cpu;      /* what it emulates: the value of its -cpu option */
    const char *core;     /* the core that is modelled when none is named */
    uint32_t zero_bytes;  /* what its `dc zva` zeroes at a time; 0: it has no such instruction */
    const char *sysroot;  /* where Debian's cross packages put its libraries */
    const char *package;  /* that has the C library there */
};

/* NULL when there is none. */
const struct td_guest *td_guest_by_name(const char *name);
const struct td_guest *td_guest_by_machine(uint16_t machine);
/* From 0 up; NULL behind the last. */
const struct td_guest *td_guest_at(unsigned i);
/* The processor of this machine; NULL when none of its kind is emulated. */
const struct td_guest *td_guest_native(void);

/* A system call of the guest as x86-64's number of it; -1 for one that concerns nobody here. */
int64_t td_guest_call(const struct td_guest *guest, int64_t number);

#endif

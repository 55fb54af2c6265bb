/* SPDX-License-Identifier: MIT */
/* As headers of libraries have it: what is inlined from there is not what the program's author
 * looks for. */
#ifndef TD_TESTS_WORKLOADS_SHARING_LIBRARY_H
#define TD_TESTS_WORKLOADS_SHARING_LIBRARY_H

#include <pthread.h>

#line 11 "/usr/include/sharing_library.h"
static inline __attribute__((always_inline)) void library_add(volatile long *at)
{
    ++*at;
}

static inline __attribute__((always_inline)) void library_lock(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
}

#endif

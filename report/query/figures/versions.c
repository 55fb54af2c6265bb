/* SPDX-License-Identifier: MIT */
#include "report/query/figures/versions.h"

#include <string.h>

#include "base/mem.h"

/* What glibc puts behind a function's name in sysdeps/x86_64/multiarch (2.26 to 2.39): what the
 * version needs, and then in what else it differs. A longer one stands before one that it ends
 * with. */
struct suffix {
    const char *text;
    bool names_isa; /* else it follows such a one */
    bool avx512;
};

static const struct suffix suffixes[] = {
    {"_no_vzeroupper", false, false}, {"_no_bsf", false, false}, {"_unaligned", false, false},
    {"_movbe", false, false},         {"_bmi2", false, false},   {"_rtm", false, false},
    {"_erms", true, false}, /* alone, too: __memset_erms */
    {"_evex512", true, true},         {"_evex", true, true},     {"_avx512", true, true},
    {"_avx2", true, false},           {"_avx", true, false},     {"_sse4_2", true, false},
    {"_sse4_1", true, false},         {"_sse42", true, false},   {"_sse2", true, false},
    {"_ssse3_back", true, false},     {"_ssse3", true, false},
};

static const struct suffix *suffix_of(const char *name, size_t len)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(suffixes); i++) {
        const size_t size = strlen(suffixes[i].text);

        if (len > size && memcmp(name + len - size, suffixes[i].text, size) == 0)
            return &suffixes[i];
    }
    return NULL;
}

/* The length of the function's name without what marks the version. 0: it is no version. The
 * library's own names begin with two underscores; a program's sum_avx2 and sum_sse2 need not do the
 * same. */
static size_t stem_of(const char *name, bool *avx512)
{
    size_t len = strlen(name);
    bool isa = false;

    *avx512 = false;
    if (strncmp(name, "__", 2) != 0)
        return 0;
    for (const struct suffix *s = suffix_of(name, len); s; s = suffix_of(name, len)) {
        len -= strlen(s->text);
        isa = isa || s->names_isa;
        *avx512 = *avx512 || s->avx512;
    }
    return isa && len > 2 ? len : 0;
}

bool td_version_is(const char *name)
{
    bool avx512 = false;

    return stem_of(name, &avx512) > 0;
}

bool td_version_needs_avx512(const char *name)
{
    bool avx512 = false;

    return stem_of(name, &avx512) > 0 && avx512;
}

bool td_versions_of_one(const char *a, const char *b)
{
    bool avx512 = false;
    const size_t len = stem_of(a, &avx512);

    return len > 0 && stem_of(b, &avx512) == len && memcmp(a, b, len) == 0;
}

/* SPDX-License-Identifier: MIT */
#include "record/machine/event_terms.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "base/text.h"

/* An event's terms may name an event; they do not go deeper in practice. */
#define DEPTH_MAX 4

static const char *find_word(const struct td_pmu_word *words, size_t count, const char *name,
                             size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i].name) == len && strncmp(words[i].name, name, len) == 0)
            return words[i].text;
    }
    return NULL;
}

const char *td_terms_event(const struct td_pmu *pmu, const char *name, size_t len)
{
    return find_word(pmu->events, pmu->event_count, name, len);
}

/* Which of config, config1, config2 the word at `text` names; its length in *len. */
static int which_config(const char *text, size_t len)
{
    static const char *const names[] = {"config", "config1", "config2"};

    for (int i = 0; i < 3; i++) {
        if (strlen(names[i]) == len && strncmp(text, names[i], len) == 0)
            return i;
    }
    return -1;
}

static unsigned take_number(const char **p)
{
    unsigned number = 0;

    for (; **p >= '0' && **p <= '9'; (*p)++)
        number = number * 10 + (unsigned)(**p - '0');
    return number;
}

/* "config:0-7,32-35": the lowest bits of the value to the first range, and so on. False when the
 * format is none we know, or the value has more bits. */
static bool place(const char *format, uint64_t value, uint64_t config[3])
{
    const size_t len = strcspn(format, ":");
    const int which = which_config(format, len);
    const char *p = format + len;

    if (which < 0 || *p != ':')
        return false;
    while (*p == ':' || *p == ',') {
        p++;
        const unsigned low = take_number(&p);
        unsigned high = low;

        if (*p == '-') {
            p++;
            high = take_number(&p);
        }
        if (high < low || high > 63)
            return false;
        const unsigned bits = high - low + 1;
        const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        config[which] |= (value & mask) << low;
        value = bits == 64 ? 0 : value >> bits;
    }
    return value == 0;
}

static int unknown_term(const struct td_pmu *pmu, const char *name, size_t len, struct td_err *err)
{
    const size_t count = pmu->format_count + pmu->event_count;
    const char **names = td_xcalloc(count + 1, sizeof(*names));
    char *word = td_xstrndup(name, len);

    for (size_t i = 0; i < pmu->format_count; i++)
        names[i] = pmu->formats[i].name;
    for (size_t i = 0; i < pmu->event_count; i++)
        names[pmu->format_count + i] = pmu->events[i].name;
    const char *near = td_nearest(word, names);
    const int rc = td_fail(err, TD_EUSAGE, "PMU %s has no term or event '%s'%s%s%s", pmu->name,
                           word, near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    free(word);
    free(names);
    return rc;
}

static int encode(const struct td_pmu *pmu, const char *terms, size_t len, uint64_t config[3],
                  int depth, struct td_err *err);

static int encode_term(const struct td_pmu *pmu, const char *term, size_t len, uint64_t config[3],
                       int depth, struct td_err *err)
{
    const char *equals = memchr(term, '=', len);
    const size_t name_len = equals ? (size_t)(equals - term) : len;
    const char *format = find_word(pmu->formats, pmu->format_count, term, name_len);
    const char *event = equals ? NULL : td_terms_event(pmu, term, name_len);
    const int direct = which_config(term, name_len);
    uint64_t value = 1;

    if (equals) {
        char *word = td_xstrndup(equals + 1, len - name_len - 1);
        const bool hex = strncmp(word, "0x", 2) == 0;
        const bool good = td_parse_u64_base(word, hex ? 16 : 10, &value);

        free(word);
        if (!good)
            return td_fail(err, TD_EUSAGE, "%s: '%.*s' is not a number", pmu->name, (int)len, term);
    }
    if (format && !place(format, value, config))
        return td_fail(err, TD_EUSAGE, "%s: '%.*s' is too large for %s", pmu->name, (int)len, term,
                       format);
    if (!format && event && depth < DEPTH_MAX)
        return encode(pmu, event, strlen(event), config, depth + 1, err);
    if (!format && direct < 0)
        return unknown_term(pmu, term, name_len, err);
    if (!format)
        config[direct] |= value;
    return TD_OK;
}

static int encode(const struct td_pmu *pmu, const char *terms, size_t len, uint64_t config[3],
                  int depth, struct td_err *err)
{
    for (size_t at = 0; at < len;) {
        const char *comma = memchr(terms + at, ',', len - at);
        const size_t term = comma ? (size_t)(comma - terms) - at : len - at;
        const int rc = term ? encode_term(pmu, terms + at, term, config, depth, err) : (int)TD_OK;

        if (rc < 0)
            return rc;
        at += term + 1;
    }
    return TD_OK;
}

int td_terms_encode(const struct td_pmu *pmu, const char *terms, size_t len, uint64_t config[3],
                    struct td_err *err)
{
    return encode(pmu, terms, len, config, 0, err);
}

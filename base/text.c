/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Well-formed sequences: Unicode 15, table 3-7. The second byte's range depends on the first. */
unsigned td_text_utf8_len(const char *s, size_t len)
{
    const unsigned char *u = (const unsigned char *)s;
    unsigned need = 0;
    unsigned char low = 0x80, high = 0xbf;

    if (len == 0)
        return 0;
    if (u[0] < 0x80)
        return 1;
    if (u[0] >= 0xc2 && u[0] <= 0xdf)
        need = 2;
    else if (u[0] >= 0xe0 && u[0] <= 0xef)
        need = 3;
    else if (u[0] >= 0xf0 && u[0] <= 0xf4)
        need = 4;
    if (need == 0 || len < need)
        return 0;
    if (u[0] == 0xe0)
        low = 0xa0;
    else if (u[0] == 0xed)
        high = 0x9f;
    else if (u[0] == 0xf0)
        low = 0x90;
    else if (u[0] == 0xf4)
        high = 0x8f;
    if (u[1] < low || u[1] > high)
        return 0;
    for (unsigned i = 2; i < need; i++) {
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    }
    return need;
}

static uint32_t code_point(const unsigned char *u, unsigned len)
{
    switch (len) {
    case 2: return (uint32_t)(u[0] & 0x1f) << 6 | (u[1] & 0x3f);
    case 3: return (uint32_t)(u[0] & 0x0f) << 12 | (uint32_t)(u[1] & 0x3f) << 6 | (u[2] & 0x3f);
    case 4:
        return (uint32_t)(u[0] & 0x07) << 18 | (uint32_t)(u[1] & 0x3f) << 12 |
               (uint32_t)(u[2] & 0x3f) << 6 | (u[3] & 0x3f);
    default: return u[0];
    }
}

static bool is_harmful(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f || c == 0x061c ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

size_t td_text_safe(char *dst, size_t dst_size, const char *src, size_t len)
{
    const unsigned char *u = (const unsigned char *)src;
    size_t used = 0, total = 0;
    bool full = false;

    for (size_t i = 0; i < len;) {
        const unsigned n = td_text_utf8_len(src + i, len - i);
        const bool keep = n > 0 && !is_harmful(code_point(u + i, n));
        char piece[5];
        const unsigned take = keep ? n : 1;
        const size_t size = keep ? n : 4;

        if (keep)
            memcpy(piece, src + i, n);
        else
            snprintf(piece, sizeof(piece), "\\x%02x", u[i]);
        full = full || used + size + 1 > dst_size;
        if (!full) {
            memcpy(dst + used, piece, size);
            used += size;
        }
        total += size;
        i += take;
    }
    dst[used] = '\0';
    return total;
}

size_t td_text_width(const char *s)
{
    size_t width = 0;
    const size_t len = strlen(s);

    for (size_t i = 0; i < len;) {
        const unsigned n = td_text_utf8_len(s + i, len - i);

        if (n <= 1) {
            width++;
            i++;
            continue;
        }
        const int columns = wcwidth((wchar_t)code_point((const unsigned char *)s + i, n));
        width += columns < 0 ? 1 : (size_t)columns;
        i += n;
    }
    return width;
}

bool td_parse_u64_base(const char *s, unsigned base, uint64_t *ret)
{
    char *end = NULL;

    if (s[0] == '\0' || s[0] == '-' || s[0] == '+' || s[0] == ' ' || s[0] == '\t')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(s, &end, (int)base);
    if (errno != 0 || end == s || *end != '\0')
        return false;
    *ret = value;
    return true;
}

const char *td_text_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool td_parse_u64(const char *s, uint64_t *ret)
{
    return td_parse_u64_base(s, 10, ret);
}

bool td_parse_double(const char *s, double *ret)
{
    char *end = NULL;

    if (s[0] == '\0' || strspn(s, "0123456789.+-eE") != strlen(s))
        return false;
    errno = 0;
    const double value = strtod(s, &end);
    if (errno != 0 || end == s || *end != '\0' || !isfinite(value))
        return false;
    *ret = value;
    return true;
}

const char *td_format_count(char *buf, size_t size, uint64_t value)
{
    char digits[24];
    const int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    size_t out = 0;

    for (int i = 0; i < len && out + 2 < size; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            buf[out++] = ',';
        buf[out++] = digits[i];
    }
    buf[out] = '\0';
    return buf;
}

const char *td_format_bytes(char *buf, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;

    while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(buf, size, value < 9.95 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buf;
}

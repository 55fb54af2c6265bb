/* SPDX-License-Identifier: MIT */
/* Which names are versions of one function of glibc. Names are those of glibc 2.36. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/query/figures/versions.h"

static void versions(void **state)
{
    static const char *const one[][2] = {
        {"__strlen_evex", "__strlen_avx2"},
        {"__strlen_evex512", "__strlen_sse2"},
        {"__memmove_evex_unaligned_erms", "__memmove_avx_unaligned"},
        {"__memmove_avx512_unaligned_erms", "__memmove_avx_unaligned_erms_rtm"},
        {"__memmove_avx512_no_vzeroupper", "__memmove_erms"},
        {"__memset_avx512_unaligned", "__memset_avx2_unaligned_erms"},
        {"__memset_erms", "__memset_sse2_unaligned"},
        {"__memcmp_evex_movbe", "__memcmp_avx2_movbe_rtm"},
        {"__memcmp_sse4_1", "__memcmp_sse2"},
        {"__strcasecmp_l_evex", "__strcasecmp_l_sse4_2"},
        {"__strchr_sse2_no_bsf", "__strchr_avx2_rtm"},
        {"__strspn_sse42", "__strspn_sse2"},
        {"__memcpy_ssse3", "__memcpy_ssse3_back"},
        {"__strstr_avx512", "__strstr_sse2_unaligned"},
        {"__memrchr_evex_rtm", "__memrchr_evex"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
        assert_true(td_version_is(one[i][0]) && td_version_is(one[i][1]));
        assert_true(td_versions_of_one(one[i][0], one[i][1]));
        assert_true(td_versions_of_one(one[i][1], one[i][0]));
    }
}

static void others(void **state)
{
    static const char *const two[][2] = {
        {"__strlen_evex", "__strnlen_avx2"},
        {"__strchr_evex", "__strchrnul_avx2"},
        {"__strcasecmp_evex", "__strcasecmp_l_avx2"},
        {"__memmove_chk_evex_unaligned", "__memmove_evex_unaligned"},
        {"__strlen_evex", "__strlen"},
        {"__strlen_evex", "strlen"},
        {"sum_avx2", "sum_sse2"}, /* a program's own may do different things */
        {"__lock_unaligned", "__lock_rtm"},
        {"___evex", "___avx2x"},
        {"__evex", "__avx2"},
        {"", ""},
        {"main", "main"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
        assert_false(td_versions_of_one(two[i][0], two[i][1]));
    assert_false(td_version_is("__evex"));
    assert_false(td_version_is("_avx2"));
    assert_false(td_version_is("__cond_rtm"));
}

static void what_needs_avx512(void **state)
{
    (void)state;
    assert_true(td_version_needs_avx512("__strlen_evex"));
    assert_true(td_version_needs_avx512("__strlen_evex512"));
    assert_true(td_version_needs_avx512("__memcmp_evex_movbe"));
    assert_true(td_version_needs_avx512("__memmove_avx512_no_vzeroupper"));
    assert_false(td_version_needs_avx512("__memmove_avx_unaligned_erms"));
    assert_false(td_version_needs_avx512("__strlen_avx2"));
    assert_false(td_version_needs_avx512("sum_avx512"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
        cmocka_unit_test(others),
        cmocka_unit_test(what_needs_avx512),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

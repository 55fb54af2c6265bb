# SPDX-License-Identifier: MIT
# A filter that matches nothing: the name that may have been meant, where one filter was given and one comes near.
. "$CASES/profiles.inc"
make_sim >profile.td
for filter in "--function chaze" "--function nothing_like_it" "--function chaze --thread x" "--function ch[z]se"; do
    tdreport functions $filter 2>&1 && echo "no error"
done
exit 0

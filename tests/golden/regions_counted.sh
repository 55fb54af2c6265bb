# SPDX-License-Identifier: MIT
# Regions of a native run whose counters took turns with others: time, CPU time, categories scaled to the whole; one
# that was never counted, and one that its thread left open. How they were counted is said.
. "$CASES/profiles.inc"
VALUES="600000000 600000000 180000000 60000000 120000000 240000000 30000000 40000000 60000000 150000000 100000000 250000000 0"
{
    pmu_head sapphire-rapids
    echo counter 0 800
    echo env parameter regions=user
    echo slots - "$METRICS"
    pmu_samples 0 800
    echo 'region - solve'
    echo 'region 0 assemble'
    echo 'region - wait'
    echo "row 0 0 0ns 4 3 3 200000000 50000000 80000000 13800000000000000 100000000 40000000 $VALUES"
    echo "row 0 1 0ns 1000 1000 1000 100000000 90000 200000 10400000000000 50000000 50000000 $VALUES"
    echo 'row 0 2 - 1 1 1 500000000 500000000 500000000 250000000000000000 1000000 0'
} | "$COMPOSE" >profile.td
tdreport regions -w 80
tdreport regions --json | sed -n '/"regions_how"/,$p'

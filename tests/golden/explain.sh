# SPDX-License-Identifier: MIT
tdreport explain -w 80
tdreport explain --core golden-cove -w 80 l3 Mispredicts MEMORY-BOUND
tdreport explain --core neoverse-n1 -w 80 divider
for words in l bogus --core=bogus; do
    tdreport explain "$words" 2>&1 | cut -c1-90
done
tdreport explain --json --core sapphire-rapids dram

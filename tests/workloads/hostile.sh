#!/bin/sh
# SPDX-License-Identifier: MIT
# hostile.sh COMPILER SOURCE OUTPUT: compiles with the function's symbol renamed to something hostile.
set -eu
name=$(printf 'hot\033]0;pwned\007\033[31m;</script><img src=x onerror=alert(1)>,"\\%%s\302\233\377')
"$1" -O2 -D_GNU_SOURCE -I"$(dirname "$2")" -c -o "$3.o" "$2"
objcopy --redefine-sym "hostile_symbol=$name" "$3.o"
"$1" -pthread -o "$3" "$3.o"
rm -f "$3.o"

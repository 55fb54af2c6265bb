# SPDX-License-Identifier: MIT
# bash completion for tdrec and tdreport: the words come from the program's own --help.
_tdprof()
{
    local word=$2 previous=$3
    COMPREPLY=()
    case $previous in
    -i | -o | --input | --output | --root | --weights)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
        ;;
    --source)
        mapfile -t COMPREPLY < <(compgen -W 'auto pmu sim clock hybrid' -- "$word")
        return
        ;;
    --pairs)
        mapfile -t COMPREPLY < <(compgen -W 'auto on off' -- "$word")
        return
        ;;
    --call-graph)
        mapfile -t COMPREPLY < <(compgen -W 'auto fp dwarf lbr none' -- "$word")
        return
        ;;
    esac
    if [[ $word == -* ]]; then
        local options
        options=$("$1" --help 2>/dev/null | grep -oE '^ {2,6}(-[A-Za-z], )?--[a-z-]+' |
            grep -oE -- '--[a-z-]+')
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    elif [[ ${1##*/} == tdreport && $COMP_CWORD == 1 ]]; then
        local commands='functions lines modules threads annotate folded callers callees export diff
            merge dump'
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    elif [[ ${1##*/} == tdrec ]]; then
        mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _tdprof tdrec tdreport

# SPDX-License-Identifier: MIT
# bash completion for tdrec and tdreport: commands, options and what an option takes come from the programs' own --help.
_tdprof_options() # of the help on stdin
{
    grep -oE '^ {2,6}(-[A-Za-z], )?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+'
}

_tdprof_takes() # OPTION, of the help on stdin: the word for its value, as FILE
{
    awk -v option="$1" '{
        word = $1; at = 1
        if (word ~ /^-[A-Za-z],$/) { if (substr(word, 1, 2) == option) word = option; else { word = $2 }; at = 2 }
        if (word == option && $(at + 1) ~ /^[A-Z]/ && substr($0, 1, 2) == "  ") { print $(at + 1); exit }
    }'
}

_tdprof()
{
    local program=$1 word=$2 previous=$3 command='' commands='' help i
    COMPREPLY=()
    help=$("$program" --help 2>/dev/null)
    if [[ ${program##*/} == tdreport ]]; then
        commands=$(sed -nE '/^Commands$/,/^[A-Z]/s/^  ([a-z]+) .*/\1/p' <<<"$help")
        for ((i = 1; i < COMP_CWORD; i++)); do
            if grep -qxF -- "${COMP_WORDS[i]-}" <<<"$commands"; then
                command=${COMP_WORDS[i]}
                help=$("$program" "$command" --help 2>/dev/null)
                break
            fi
        done
    fi
    case $previous in
    --source) mapfile -t COMPREPLY < <(compgen -W 'auto pmu sim clock hybrid live' -- "$word"); return ;;
    --pairs) mapfile -t COMPREPLY < <(compgen -W 'auto on off' -- "$word"); return ;;
    --method) mapfile -t COMPREPLY < <(compgen -W 'cpu task' -- "$word"); return ;;
    --call-graph) mapfile -t COMPREPLY < <(compgen -W 'auto fp dwarf lbr none' -- "$word"); return ;;
    --by) mapfile -t COMPREPLY < <(compgen -W 'host rank process' -- "$word"); return ;;
    --format | -f)
        mapfile -t COMPREPLY < <(compgen -W "$("$program" export --format list 2>/dev/null |
            awk '{ print $1 }')" -- "$word")
        return
        ;;
    -*)
        case $(_tdprof_takes "$previous" <<<"$help") in
        FILE | DIR | OUT) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
        '') ;;
        *) return ;; # a name or number: nothing to offer
        esac
        ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_tdprof_options <<<"$help")" -- "$word")
    elif [[ -n $commands && -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
    elif [[ -z $commands ]]; then
        mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _tdprof tdrec tdreport

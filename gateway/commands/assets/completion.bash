# Completion for bash. For this session:  source <({{print}})
# For good:  {{print}} > ~/.local/share/bash-completion/completions/helper-gateway
_helper_gateway() {
  local words=() word joined='' out line value directive current before i
  # Bash splits words at "=" and ":"; what was typed as one word is one again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ ${#words[@]} -gt 0 && ( -n $joined || $word == [=:] ) ]]; then
      words[${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    joined=''
    [[ $word == [=:] ]] && joined=1
  done
  current=${words[${#words[@]}-1]}
  before=${current%"${current##*[=:]}"}
  COMPREPLY=()
  out=$({{ask}} "${words[@]}" 2>/dev/null) || return 0
  directive=${out##*$'\n'}
  while IFS= read -r line; do
    [[ $line == :* ]] && continue
    value=${line%%$'\t'*}
    printf -v value '%q' "${value#"$before"}"
    COMPREPLY+=("$value")
  done <<<"$out"
  # Bash 3.2 has no compopt; it falls back to files.
  case $directive in
    :4) compopt +o default 2>/dev/null ;;
    :16) compopt +o default -o dirnames 2>/dev/null ;;
  esac
  return 0
}
complete -o default -F _helper_gateway helper-gateway

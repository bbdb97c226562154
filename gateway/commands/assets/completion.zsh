#compdef helper-gateway
# Completion for zsh. For this session (after compinit):  source <({{print}})
# For good:  {{print}} > a folder of $fpath/_helper-gateway
_helper_gateway() {
  local -a lines described
  local line value
  lines=("${(@f)$({{ask}} "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "${(@)lines[1,-2]}"; do
    value=${${line%%$'\t'*}//:/\\:}
    if [[ $line == *$'\t'* ]]; then described+=("$value:${line#*$'\t'}"); else described+=("$value"); fi
  done
  (( ${#described} )) && _describe 'helper-gateway' described
  [[ $PREFIX == --*=* ]] && compset -P '*='
  case ${lines[-1]} in
    :0) _files ;;
    :16) _files -/ ;;
  esac
}
if [[ ${funcstack[1]} == _helper-gateway ]]; then
  _helper_gateway "$@"
else
  compdef _helper_gateway helper-gateway
fi

# Completion for fish. For this session:  {{print}} | source
# For good:  {{print}} > ~/.config/fish/completions/helper-gateway.fish
function __helper_gateway_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l typed (commandline -ct)
  set -l lines ({{ask}} $words "$typed" 2>/dev/null)
  set -q lines[1]; or return
  for line in $lines
    string match -q -- ':*' $line; or echo $line
  end
  # Of "--out=pic" fish completes the whole, and its files only what stands behind "=".
  set -l before (string match -r -- '^--[^=]+=' "$typed")
  set -l path (string replace -r -- '^--[^=]+=' '' "$typed")
  switch $lines[-1]
    case ':0'
      string replace -r -- '^' "$before" (__fish_complete_path "$path")
    case ':16'
      string replace -r -- '^' "$before" (__fish_complete_directories "$path")
  end
end
complete -c helper-gateway -f -a '(__helper_gateway_complete)'

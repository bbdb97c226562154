import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Argument, type Command } from 'commander';
import { asLines, type Completion, completeCommand, nothing, placeOf } from './complete-command.js';
import type { Terminal } from './output.js';
import { commandName, quoteWord, reserveStdout } from './process.js';

const bin = fileURLToPath(new URL('gateway/bin.cjs', import.meta.resolve('helper-gateway/package.json')));

/** `completion SHELL`, and what its scripts ask: `complete -- WORDS…`, of which the last is being typed. */
export function registerCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('Print a script by which a shell completes commands, helpers, parameters and files.')
    .addArgument(new Argument('<shell>').choices(shells))
    .action((shell: Shell) => {
      terminal.stdout.write(scriptOf(shell, { node: process.execPath, bin, command: commandName() }));
    });
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .helpOption(false)
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: string[]) => {
      // Only candidates may be printed while a person is typing, whatever a plugin prints or throws.
      reserveStdout();
      const completion = await complete(program, words).catch(() => nothing);
      writeSync(1, asLines(completion));
      process.exit(0);
    });
}

async function complete(program: Command, words: readonly string[]): Promise<Completion> {
  const place = placeOf(program, words.slice(0, -1));
  const typed = words.at(-1) ?? '';
  if (place.command.name() !== 'call') return completeCommand(place, typed);
  const { completeCall } = await import('./complete-call.js');
  const { findHelpers } = await import('./complete-call.js');
  const { loadConfig } = await import('../config.js');
  return completeCall(place.before, typed, findHelpers(loadConfig(process.env).pluginDirs));
}

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** How the scripts ask for candidates: by this installation's own paths, because no PATH need hold the command. */
interface ScriptCommand {
  node: string;
  bin: string;
  /** How a person prints this script. */
  command: string;
}

/** A script that has a shell ask the command line itself what may stand where the cursor is. */
function scriptOf(shell: Shell, { node, bin, command }: ScriptCommand): string {
  return makers[shell](`${quoteWord(node)} ${quoteWord(bin)} complete --`, `${command} completion ${shell}`);
}

const makers: Record<Shell, (ask: string, print: string) => string> = { bash, zsh, fish };

function bash(ask: string, print: string): string {
  return `# Completion for bash. For this session:  source <(${print})
# For good:  ${print} > ~/.local/share/bash-completion/completions/helper-gateway
_helper_gateway() {
  local words=() word joined='' out line value directive current before i
  # Bash splits words at "=" and ":"; what was typed as one word is one again.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ \${#words[@]} -gt 0 && ( -n $joined || $word == [=:] ) ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
    joined=''
    [[ $word == [=:] ]] && joined=1
  done
  current=\${words[\${#words[@]}-1]}
  before=\${current%"\${current##*[=:]}"}
  COMPREPLY=()
  out=$(${ask} "\${words[@]}" 2>/dev/null) || return 0
  directive=\${out##*$'\\n'}
  while IFS= read -r line; do
    [[ $line == :* ]] && continue
    value=\${line%%$'\\t'*}
    printf -v value '%q' "\${value#"$before"}"
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
`;
}

function zsh(ask: string, print: string): string {
  return `#compdef helper-gateway
# Completion for zsh. For this session (after compinit):  source <(${print})
# For good:  ${print} > a folder of $fpath/_helper-gateway
_helper_gateway() {
  local -a lines described
  local line value
  lines=("\${(@f)$(${ask} "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)lines[1,-2]}"; do
    value=\${\${line%%$'\\t'*}//:/\\\\:}
    if [[ $line == *$'\\t'* ]]; then described+=("$value:\${line#*$'\\t'}"); else described+=("$value"); fi
  done
  (( \${#described} )) && _describe 'helper-gateway' described
  [[ $PREFIX == --*=* ]] && compset -P '*='
  case \${lines[-1]} in
    :0) _files ;;
    :16) _files -/ ;;
  esac
}
if [[ \${funcstack[1]} == _helper-gateway ]]; then
  _helper_gateway "$@"
else
  compdef _helper_gateway helper-gateway
fi
`;
}

function fish(ask: string, print: string): string {
  return `# Completion for fish. For this session:  ${print} | source
# For good:  ${print} > ~/.config/fish/completions/helper-gateway.fish
function __helper_gateway_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l typed (commandline -ct)
  set -l lines (${ask} $words "$typed" 2>/dev/null)
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
`;
}

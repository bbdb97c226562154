import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Thrown } from '../../pool/errors.js';
import { isTypeScript, stripTypes } from '../../pool/plugin-hooks.js';
import { writtenForm } from '../../schemas/declared-helper.js';

const ownModules = ['helper-gateway/helper', 'helper-gateway/testing'];

/** Errors of the loader by their messages, and how to fix the plugin. */
const hints: [message: RegExp, hint: (name: string) => string][] = [
  [
    // Before Node 22.15 no hook can redirect what CommonJS requires.
    /^Cannot find module 'helper-gateway\//,
    () =>
      'require cannot find the gateway here: export a plain object (module.exports = { summary, input, handler }), or write an ES module',
  ],
  [
    /^Cannot find package 'helper-gateway' imported from/,
    () => `of the gateway there are ${ownModules.map((each) => `"${each}"`).join(' and ')}`,
  ],
  [
    /^Cannot find package '([^']+)' imported from/,
    (name) => `install it in the folder of plugins: npm install ${name}`,
  ],
  [/^(?:module|exports) is not defined/, () => `write "${writtenForm}", or rename the file to .cjs`],
  [/^__(dirname|filename) is not defined/, (name) => `write "import.meta.${name}"`],
  [/needs an import attribute of "?type/, () => `write "import … from '….json' with { type: 'json' }"`],
  [
    /^(defineHelper|invalidInput|fail|pictureOutput|pictureOutputRules) is not defined$/,
    (name) => `write "import { ${name} } from '${ownModules[0]}'"`,
  ],
  [/ did not settle within /, () => 'something that it awaits at its top never comes'],
];

/** How to fix a plugin that failed to load with this error, to follow its message; empty where that is unknown. */
export function loadHint({ message, stack = '' }: Error): string {
  const [, type] = /does not provide an export named '([^']+)'/.exec(message) ?? [];
  // An exported type vanishes when types are blanked out, an import of it as a value does not.
  if (type !== undefined && isTypeScript(stack.split('\n')[0]?.replace(/:\d+$/, '') ?? '')) {
    return `; if ${type} is a type, write "import type"`;
  }
  for (const [pattern, hint] of hints) {
    const found = pattern.exec(message);
    if (found) return `; ${hint(found[1] ?? '')}`;
  }
  return '';
}

/** Which time limit ended a call, for the helper's author, to follow the public message; empty where the time is unknown. */
export function timeHint(cause: unknown): string {
  const { ms } = (cause ?? {}) as { ms?: unknown };
  if (typeof ms !== 'number') return '';
  const whose = 'timeoutMs of its declaration, else HELPER_TASK_TIMEOUT_MS';
  return ` It had worked for ${Math.round(ms)} ms; ${whose}, says how long it may.`;
}

/** The usual reason why a thread ended. */
export function exitHint({ causes = [] }: Pick<Thrown, 'causes'>): string {
  return causes.some(({ message }) => message.startsWith('worker exited with code'))
    ? '; a plugin must not call process.exit'
    : '';
}

/** Modules that are checked at most: each costs a process. */
const mostModules = 20;

const relativeImport = /\b(?:from|import)\s*\(?\s*['"](\.\.?\/[^'"\n]+\.(?:[cm]?js|m?ts))['"]/g;

/**
 * The place of a syntax error in `file` or in a module that it imports by a relative path. V8 reports the place only in a process that
 * ends with the error, so one is started. Empty where no module has this error.
 */
export function placeOfSyntaxError({ message }: SyntaxError, file: string): string {
  const modules = new Set([file]);
  for (const module of modules) {
    const source = sourceOf(module);
    if (source === undefined) continue;
    const line = faultyLine(module, source, message);
    if (line !== undefined) return module === file ? `line ${line}` : `${module}:${line}`;
    for (const [, path = ''] of source.matchAll(relativeImport)) {
      if (modules.size < mostModules) modules.add(resolve(dirname(module), path));
    }
  }
  return '';
}

/** Undefined where the file cannot be read, which is another error. */
function sourceOf(file: string): string | undefined {
  try {
    return isTypeScript(pathToFileURL(file).href) ? stripTypes(file) : readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function faultyLine(file: string, source: string, message: string): string | undefined {
  // For JavaScript, Node decides by the file's path whether it is an ES module.
  const what = isTypeScript(pathToFileURL(file).href) ? ['--input-type=module', '-'] : [file];
  const options = { input: source, encoding: 'utf8', timeout: 5_000 } as const;
  const { stderr } = spawnSync(process.execPath, ['--check', ...what], options);
  return stderr.includes(`SyntaxError: ${message}`) ? /^.*:(\d+)$/m.exec(stderr)?.[1] : undefined;
}

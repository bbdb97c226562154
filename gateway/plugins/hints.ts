import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Thrown } from '../../pool/errors.js';
import { isTypeScript, stripTypes } from '../../pool/plugin-hooks.js';
import { writtenForm } from '../../schemas/declared-helper.js';

const ownModules = ['helper-gateway/helper', 'helper-gateway/testing'];

/** What to write instead, after the message of an error that a plugin's module failed with; empty where that is not known. */
export function loadHint(error: Error): string {
  for (const hint of [typeHint, packageHint, commonJsHint, jsonHint, nameHint, awaitHint]) {
    const told = hint(error);
    if (told !== undefined) return `; ${told}`;
  }
  return '';
}

/** A type that is imported as if it were a value vanishes from where it is exported, and not from where it is imported. */
function typeHint({ message, stack = '' }: Error): string | undefined {
  const [, name] = /does not provide an export named '([^']+)'/.exec(message) ?? [];
  return name !== undefined && isTypeScript(stack.split('\n')[0]?.replace(/:\d+$/, '') ?? '')
    ? `if ${name} is a type, write "import type"`
    : undefined;
}

function packageHint({ message }: Error): string | undefined {
  // On Node before 22.15 what CommonJS requires cannot be given another place.
  if (/^Cannot find module 'helper-gateway\//.test(message)) {
    return 'require cannot find the gateway here: export a plain object (module.exports = { summary, input, handler }), or write an ES module';
  }
  const [, name] = /^Cannot find package '([^']+)' imported from/.exec(message) ?? [];
  if (name === undefined) return undefined;
  return name === 'helper-gateway'
    ? `of the gateway there are ${ownModules.map((each) => `"${each}"`).join(' and ')}`
    : `install it in the folder of plugins: npm install ${name}`;
}

function commonJsHint({ message }: Error): string | undefined {
  const [, name] = /^(module|exports|require|__dirname|__filename) is not defined/.exec(message) ?? [];
  if (name === 'module' || name === 'exports') return `write "${writtenForm}", or rename the file to .cjs`;
  return name?.startsWith('__') ? `write "import.meta.${name.slice(2)}"` : undefined;
}

function jsonHint({ message }: Error): string | undefined {
  return /needs an import attribute of "?type/.test(message)
    ? `write "import … from '….json' with { type: 'json' }"`
    : undefined;
}

/** What the gateway gives and was not imported. */
function nameHint({ message }: Error): string | undefined {
  const [, name] =
    /^(defineHelper|invalidInput|fail|pictureOutput|pictureOutputRules) is not defined$/.exec(message) ?? [];
  return name && `write "import { ${name} } from '${ownModules[0]}'"`;
}

function awaitHint({ message }: Error): string | undefined {
  return / did not settle within /.test(message)
    ? 'something that it awaits at its top never comes'
    : undefined;
}

/** Whose time it was that was up, for the author of a helper, after what callers read; empty where it is not known how long it was. */
export function timeHint(cause: unknown): string {
  const { ms } = (cause ?? {}) as { ms?: unknown };
  if (typeof ms !== 'number') return '';
  const whose = 'timeoutMs of its declaration, else HELPER_TASK_TIMEOUT_MS';
  return ` It had worked for ${Math.round(ms)} ms; ${whose}, says how long it may.`;
}

/** Of a thread that is gone nothing tells why; there is one usual reason. */
export function exitHint({ causes = [] }: Pick<Thrown, 'causes'>): string {
  return causes.some(({ message }) => message.startsWith('worker exited with code'))
    ? '; a plugin must not call process.exit'
    : '';
}

/** Modules that are looked through at most: each costs a process. */
const mostModules = 20;

const relativeImport = /\b(?:from|import)\s*\(?\s*['"](\.\.?\/[^'"\n]+\.(?:[cm]?js|m?ts))['"]/g;

/**
 * Where a syntax error is that came of importing `file`: there, or in what it imports by a relative path. V8 tells the place only
 * to a process that dies of the error, so one is let die. Empty where no module is found that has this very fault.
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

/** Undefined for what cannot be read: another fault, which is not the one that is looked for. */
function sourceOf(file: string): string | undefined {
  try {
    return isTypeScript(pathToFileURL(file).href) ? stripTypes(file) : readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function faultyLine(file: string, source: string, message: string): string | undefined {
  // Of JavaScript Node knows by the file whether it is an ES module.
  const what = isTypeScript(pathToFileURL(file).href) ? ['--input-type=module', '-'] : [file];
  const options = { input: source, encoding: 'utf8', timeout: 5_000 } as const;
  const { stderr } = spawnSync(process.execPath, ['--check', ...what], options);
  return stderr.includes(`SyntaxError: ${message}`) ? /^.*:(\d+)$/m.exec(stderr)?.[1] : undefined;
}

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isTypeScript, stripTypes } from '../../pool/load-typescript.js';

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

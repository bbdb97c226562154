import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The error of an import that leads nowhere, better told where a file in TypeScript is meant: `./words.js` and `./words` where
 * there is only `words.ts`. Compilers and bundlers take these for it; Node, which compiles nothing, does not.
 */
export function explainMissing(error: unknown, specifier: string, parent: string | undefined): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const relative = /^\.\.?\//.test(specifier) && parent?.startsWith('file:');
  if (code !== 'ERR_MODULE_NOT_FOUND' || !relative) return error;
  const meant = inTypeScript(specifier).find((other) => existsSync(new URL(other, parent)));
  if (meant === undefined) return error;
  const message = `"${specifier}" does not exist, but "${meant}" does: import that (${fileURLToPath(parent as string)})`;
  return Object.assign(new Error(message), { code });
}

function inTypeScript(specifier: string): string[] {
  const [, stem, mode] = /^(.*)\.(m?)js$/.exec(specifier) ?? [];
  if (stem !== undefined) return [`${stem}.${mode}ts`];
  return [`${specifier}.ts`, `${specifier}.mts`];
}

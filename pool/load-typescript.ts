import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What the stripper throws: an object, and no error. */
interface StripFault {
  code: string;
  message: string;
  startLine: number;
}

/** What is no mere type, by the stripper's words for it, and what to write instead. */
const remedies: [RegExp, string][] = [
  [/ enum /, 'an enum is code and no type: write an object, const Size = { small: 1 } as const'],
  [/ namespace /, 'a namespace is code and no type: write its parts as a module, and import that'],
  [
    / parameter property /,
    'a parameter property is code and no type: declare the field, and set it in the constructor',
  ],
  [/ import equals /, 'import … = is no part of ES modules: write import … from'],
  [/ export assignment /, 'export = is no part of ES modules: write export default'],
];

let stripper: typeof import('@swc/wasm-typescript') | undefined;

/** Whether the module at this address is a plugin's in TypeScript. Packages come compiled, by Node's own rule. */
export function isTypeScript(url: string): boolean {
  return /^file:[^?#]*\.m?ts(?:[?#]|$)/.test(url) && !url.includes('/node_modules/');
}

/** What a module hook answers Node with for a module in TypeScript. Each is an ES module, whatever the folder's package.json says. */
export function loadTypeScript(url: string): { format: 'module'; source: string; shortCircuit: true } {
  return { format: 'module', source: stripTypes(fileURLToPath(url)), shortCircuit: true };
}

/**
 * The JavaScript of a file in TypeScript: its types are blanked out, so that every line and column stays where it was. Throws
 * for what is more than a type, and for what cannot be read, with the line. The stripper is what Node 22 and later bring with
 * them, taken as a package so that each Node takes the same; only its first use loads it, which costs 40 ms.
 */
export function stripTypes(file: string): string {
  const source = readFileSync(file, 'utf8');
  stripper ??= createRequire(import.meta.url)('@swc/wasm-typescript') as NonNullable<typeof stripper>;
  try {
    return stripper.transformSync(source, { mode: 'strip-only', module: true }).code;
  } catch (fault) {
    throw isFault(fault) ? refusal(fault, file) : fault;
  }
}

function isFault(thrown: unknown): thrown is StripFault {
  return typeof thrown === 'object' && thrown !== null && 'startLine' in thrown;
}

function refusal({ code, message, startLine }: StripFault, file: string): Error {
  const remedy = code === 'UnsupportedSyntax' && remedies.find(([pattern]) => pattern.test(message))?.[1];
  const error = new Error(`${remedy || message} (${file}:${startLine})`);
  error.name = 'SyntaxError';
  return error;
}

import { existsSync, readFileSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** What is no mere type, by the stripper's words for it, and what to write instead. */
const remedies = {
  ' enum ': 'an enum is code and no type: write an object, const Size = { small: 1 } as const',
  ' namespace ': 'a namespace is code and no type: write its parts as a module, and import that',
  ' parameter property ':
    'a parameter property is code and no type: declare the field, and set it in the constructor',
  ' import equals ': 'import … = is no part of ES modules: write import … from',
  ' export assignment ': 'export = is no part of ES modules: write export default',
};

let stripper: typeof import('@swc/wasm-typescript') | undefined;

/** Whether the module at this address is a plugin's in TypeScript. Packages come compiled, by Node's own rule. */
export function isTypeScript(url: string): boolean {
  return /^file:[^?#]*\.m?ts(?:[?#]|$)/.test(url) && !url.includes('/node_modules/');
}

/** Texts of modules as they were when the gateway started, by their URLs. */
export type Sources = Readonly<Record<string, string>>;

interface LoadedModule {
  format: string;
  source?: unknown;
  shortCircuit?: true;
}

interface LoadContext {
  format?: string | null | undefined;
}

/** What a module hook answers Node with, where it does not leave a module to the `next` one. */
export function loadFrom(
  sources: Sources,
  url: string,
  context: LoadContext,
): LoadedModule | { replace: (found: LoadedModule) => LoadedModule } | undefined {
  const source = sources[url];
  // TypeScript is an ES module, whatever the folder's package.json says.
  if (isTypeScript(url)) {
    return { format: 'module', source: stripTypes(fileURLToPath(url), source), shortCircuit: true };
  }
  if (source === undefined || context.format === 'commonjs') return undefined;
  if (context.format === 'module') return { format: 'module', source, shortCircuit: true };
  // Node looks into the file to see what it is.
  return { replace: (found) => (found.format === 'commonjs' ? found : { ...found, source }) };
}

/**
 * The JavaScript of a file in TypeScript: its types are blanked out, so that every line and column stays where it was. Throws for what
 * is more than a type, and for what cannot be read, with the line. The stripper is that of Node 22 and later, as a package so that each
 * Node has the same; its first use loads it, which costs 40 ms.
 */
export function stripTypes(file: string, source = readFileSync(file, 'utf8')): string {
  stripper ??= createRequire(import.meta.url)('@swc/wasm-typescript') as NonNullable<typeof stripper>;
  try {
    return stripper.transformSync(source, { mode: 'strip-only', module: true }).code;
  } catch (fault) {
    // What the stripper throws is an object, and no error.
    if (typeof fault !== 'object' || fault === null || !('startLine' in fault)) throw fault;
    const { code, message, startLine } = fault as { code: string; message: string; startLine: number };
    const remedy = Object.entries(remedies).find(([word]) => message.includes(word))?.[1];
    const reason = (code === 'UnsupportedSyntax' && remedy) || message;
    throw Object.assign(new Error(`${reason} (${file}:${startLine})`), { name: 'SyntaxError' });
  }
}

/**
 * The error of an import that leads nowhere, with a hint where a file in TypeScript is meant: `./words.js` and `./words` where there is
 * only `words.ts`, which compilers and bundlers accept, and Node does not.
 */
export function explainMissing(error: unknown, specifier: string, parent: string | undefined): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const relative = /^\.\.?\//.test(specifier) && parent?.startsWith('file:');
  if (code !== 'ERR_MODULE_NOT_FOUND' || !relative) return error;
  const [, stem = specifier, mode] = /^(.*)\.(m?)js$/.exec(specifier) ?? [];
  const endings = mode === undefined ? ['ts', 'mts'] : [`${mode}ts`];
  const meant = endings
    .map((ending) => `${stem}.${ending}`)
    .find((other) => existsSync(new URL(other, parent)));
  if (meant === undefined) return error;
  const message = `"${specifier}" does not exist, but "${meant}" does: import that (${fileURLToPath(parent as string)})`;
  return Object.assign(new Error(message), { code });
}

/** Node's synchronous hooks; `@types/node` is that of the oldest Node that is supported. */
interface Hooks {
  resolve(
    specifier: string,
    context: { parentURL?: string },
    next: (specifier: string, context: object) => unknown,
  ): unknown;
  load(url: string, context: LoadContext, next: (url: string, context: object) => LoadedModule): LoadedModule;
}

let hooked = false;
let sources: Sources | undefined;
let sourcesPort: MessagePort | undefined;

/** Has this thread load ES modules from these texts, which are JSON that all threads share, and not from the files as they are by then. */
export function useSources(shared: Uint8Array): void {
  if (sources) return;
  sources = JSON.parse(new TextDecoder().decode(Uint8Array.from(shared))) as Sources;
  sourcesPort?.postMessage(sources);
}

/**
 * Gives plugins in this thread what Node alone would not: `helper-gateway/helper`, which lies at `helperUrl`, and its neighbour
 * `helper-gateway/testing` by name, wherever their folder lies and without node_modules; and modules in TypeScript as they are.
 * Done once a thread and only where outside folders are configured: the hooks cost a start some milliseconds. Node 22.15 and
 * later have synchronous hooks; before that they run in a thread of their own, of which Node keeps a port on the main thread for good
 * when this one is ended (`threadsPorts` of its worker internals): some 2 kB for each thread that was.
 */
export function hookPlugins(helperUrl: string): void {
  if (hooked) return;
  hooked = true;
  const modules: Record<string, string> = {
    'helper-gateway/helper': helperUrl,
    'helper-gateway/testing': new URL('testing.js', helperUrl).href,
  };
  const { registerHooks } = nodeModule as unknown as { registerHooks?: (hooks: Hooks) => void };
  if (!registerHooks) {
    const { port1, port2 } = new MessageChannel();
    sourcesPort = port1;
    port1.unref();
    const data = { modules, port: port2 };
    nodeModule.register('./plugin-hooks-thread.js', import.meta.url, { data, transferList: [port2] });
    if (sources) port1.postMessage(sources);
    return;
  }
  registerHooks({
    resolve(specifier, context, next) {
      const url = modules[specifier];
      if (url !== undefined) return { url, shortCircuit: true };
      try {
        return next(specifier, context);
      } catch (error) {
        throw explainMissing(error, specifier, context.parentURL);
      }
    },
    load(url, context, next) {
      const loaded = loadFrom(sources ?? {}, url, context);
      if (loaded && !('replace' in loaded)) return loaded;
      const found = next(url, context);
      return loaded ? loaded.replace(found) : found;
    },
  });
}

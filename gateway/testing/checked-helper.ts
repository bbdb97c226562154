import { once } from '../../pool/concurrency.js';
import { createRedactor, type HelperParts } from '../../pool/context/handler-context.js';
import { encodableBy, engineToBe } from '../../pool/image/options.js';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { type Plugin, setUp } from '../../pool/plugin.js';
import { checkDeclaration } from '../../schemas/declaration.js';
import { describeDeclaration } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import type { Abilities } from '../../schemas/keywords/keyword.js';
import { compileOutput } from '../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import type { CallError } from './types.js';

/** An error as a test meets it: with the code and the details of the envelope, and for what is a fault with what was thrown. */
export function callError(
  code: string,
  message: string,
  { details, cause }: { details?: FieldProblem[] | undefined; cause?: unknown } = {},
): CallError {
  const error = new Error(message, cause === undefined ? {} : { cause });
  return Object.assign(error, { code, ...(details ? { details } : {}) });
}

export type CheckedHelper = ReturnType<typeof checkHelper>;

/** Checks a plugin's default export as the start does, and reads it. Throws `invalid_declaration` with every reason. */
function checkHelper(declared: object, abilities: Abilities) {
  const reasons = checkDeclaration(declared);
  if (reasons.length > 0) throw faulty(reasons.join('\n'));
  const declaration = describeDeclaration(declared);
  const ajv = createVocabulary(abilities);
  try {
    const parameters = compileParameters(ajv, declaration);
    return {
      plugin: declared as Plugin,
      abilities,
      // Without functions of its own it is called as a worker would call it.
      helper: { file: '', url: '', declaration, parameters },
      checkOutput: declaration.output && compileOutput(ajv, declaration.output),
    };
  } catch (error) {
    throw faulty((error as Error).message);
  }
}

function faulty(reasons: string): Error {
  return callError('invalid_declaration', `the gateway would not start with this helper:\n${reasons}`);
}

/** Seconds for a native operation. */
const timeoutSeconds = 10;

const engineChoice = 'auto';
const canEncode = encodableBy(() => engineToBe(engineChoice));

// What calls of this process share: nothing of it is made before it is needed.
const known = new WeakMap<object, Promise<CheckedHelper>>();
const prepared = new WeakMap<CheckedHelper, Map<string, Promise<HelperParts>>>();
const fonts = once(() => createFontSet());

export const imageEngine = once(async () => {
  const { engine } = await loadEngine(engineChoice, { fonts, timeoutSeconds });
  return engine;
});

/** The helper of a plugin's default export, checked once. Throws `invalid_declaration`. */
export function checkedHelper(declared: object): Promise<CheckedHelper> {
  // Not an object: no key of a WeakMap, and no declaration.
  if (typeof declared !== 'object' || declared === null) return check(declared);
  const found = known.get(declared) ?? check(declared);
  known.set(declared, found);
  return found;
}

/** Fonts are slow to read, and few schemas need them. */
async function check(declared: object): Promise<CheckedHelper> {
  const { input } = (declared ?? {}) as { input?: unknown };
  if (!mentionsDrawable(input)) return checkHelper(declared, { canEncode });
  const set = await fonts();
  return checkHelper(declared, { canDraw: (text) => set.missing(text), canEncode });
}

/** What a helper's handler gets with this configuration; its `setup` has run, once for each. Throws `setup_failed`. */
export function preparedParts(helper: CheckedHelper, config: HelperParts['config']): Promise<HelperParts> {
  const all = prepared.get(helper) ?? new Map<string, Promise<HelperParts>>();
  prepared.set(helper, all);
  const key = JSON.stringify(config);
  const found = all.get(key) ?? runSetup(helper, config);
  all.set(key, found);
  return found;
}

async function runSetup(
  { plugin, helper }: CheckedHelper,
  config: HelperParts['config'],
): Promise<HelperParts> {
  const secrets = helper.declaration.config.flatMap(({ name, secret }) =>
    secret ? (config[name] ?? []) : [],
  );
  const redactor = createRedactor(secrets);
  const { setup } = plugin;
  if (typeof setup !== 'function') return { config, state: undefined, redactor };
  const { signal } = new AbortController();
  try {
    // As one of the package's own, which is not guarded: a guard would listen for what the whole process lets escape.
    const options = { service: 'setup', shipped: true, redactor };
    const state = await setUp(() => setup.call(plugin, { config, signal }), options);
    return { config, state, redactor };
  } catch (error) {
    throw callError('setup_failed', (error as Error).message, { cause: error });
  }
}

/** `seen` ends the walk of a schema that contains itself, which the check reports. */
function mentionsDrawable(schema: unknown, seen = new Set<unknown>()): boolean {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false;
  seen.add(schema);
  return 'drawable' in schema || Object.values(schema).some((each) => mentionsDrawable(each, seen));
}

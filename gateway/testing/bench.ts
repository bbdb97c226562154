import { createRedactor, type HelperParts } from '../../pool/context/handler-context.js';
import type { ImageEngine } from '../../pool/image/engine.js';
import { encodableBy, engineToBe } from '../../pool/image/options.js';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet, type FontSet } from '../../pool/image/text/fonts.js';
import { type Plugin, setUp } from '../../pool/plugin.js';
import { checkDeclaration } from '../../schemas/declaration.js';
import { describeDeclaration } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import type { Abilities } from '../../schemas/keywords/keyword.js';
import { type CheckOutput, compileOutput } from '../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../schemas/vocabulary.js';
import type { Helper } from '../plugins/registry.js';
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

export interface CheckedHelper {
  plugin: Plugin;
  helper: Omit<Helper, 'id'>;
  abilities: Abilities;
  /** Absent where it declares no output. */
  judgeOutput?: CheckOutput;
}

/** Checks a plugin's default export as the start does, and reads it. Throws `invalid_declaration` with every reason. */
function checkHelper(declared: object, abilities: Abilities): CheckedHelper {
  const reasons = checkDeclaration(declared);
  if (reasons.length > 0) throw faulty(reasons.join('\n'));
  const declaration = describeDeclaration(declared);
  const ajv = createVocabulary(abilities);
  try {
    const parameters = compileParameters(ajv, declaration);
    return {
      plugin: declared as Plugin,
      // Without functions of its own it is called as a worker would call it.
      abilities,
      helper: { file: '', url: '', declaration, parameters },
      ...(declaration.output ? { judgeOutput: compileOutput(ajv, declaration.output) } : {}),
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

/** What calls share: what is costly to make, and what `setup` has to make once. */
export interface Bench {
  engine(): Promise<ImageEngine>;
  /** The helper of a plugin's default export, checked once. Throws `invalid_declaration`. */
  know(declared: object): Promise<CheckedHelper>;
  /** What its handler gets with this configuration; its `setup` has run. Throws `setup_failed`. */
  prepare(known: CheckedHelper, config: HelperParts['config']): Promise<HelperParts>;
}

const engineChoice = 'auto';
const canEncode = encodableBy(() => engineToBe(engineChoice));

/** Makes a bench on which nothing is made before it is needed. */
export function createBench(): Bench {
  const known = new WeakMap<object, Promise<CheckedHelper>>();
  const prepared = new WeakMap<CheckedHelper, Map<string, Promise<HelperParts>>>();
  let fontSet: Promise<FontSet> | undefined;
  let engine: Promise<ImageEngine> | undefined;

  function fonts(): Promise<FontSet> {
    fontSet ??= createFontSet();
    return fontSet;
  }

  async function openEngine(): Promise<ImageEngine> {
    return (await loadEngine(engineChoice, { fonts, timeoutSeconds })).engine;
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

  /** Fonts are slow to read, and few schemas need them. */
  async function know(declared: object): Promise<CheckedHelper> {
    const { input } = (declared ?? {}) as { input?: unknown };
    if (!mentionsDrawable(input)) return checkHelper(declared, { canEncode });
    const set = await fonts();
    return checkHelper(declared, { canDraw: (text) => set.missing(text), canEncode });
  }

  return {
    engine() {
      engine ??= openEngine();
      return engine;
    },
    know(declared) {
      // Not an object: no key of a WeakMap, and no declaration.
      if (typeof declared !== 'object' || declared === null) return know(declared);
      const found = known.get(declared) ?? know(declared);
      known.set(declared, found);
      return found;
    },
    prepare(helper, config) {
      const all = prepared.get(helper) ?? new Map<string, Promise<HelperParts>>();
      prepared.set(helper, all);
      const key = JSON.stringify(config);
      const found = all.get(key) ?? runSetup(helper, config);
      all.set(key, found);
      return found;
    },
  };
}

/** `seen` ends the walk of a schema that contains itself, which the check reports. */
function mentionsDrawable(schema: unknown, seen = new Set<unknown>()): boolean {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false;
  seen.add(schema);
  return 'drawable' in schema || Object.values(schema).some((each) => mentionsDrawable(each, seen));
}

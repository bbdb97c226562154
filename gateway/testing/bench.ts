import type { HelperParts } from '../../pool/context/handler-context.js';
import { createRedactor } from '../../pool/context/secrets.js';
import { encodableBy, engineToBe } from '../../pool/image/encodable.js';
import type { ImageEngine } from '../../pool/image/engine.js';
import { loadEngine } from '../../pool/image/select.js';
import { createFontSet, type FontSet } from '../../pool/image/text/fonts.js';
import { setUp } from '../../pool/set-up.js';
import { callError } from './call-error.js';
import { type KnownHelper, knowHelper } from './known-helper.js';

/** Seconds that a native operation may take. */
const timeoutSeconds = 10;

/** What calls share: what is costly to make, and what `setup` has to make once. */
export interface Bench {
  engine(): Promise<ImageEngine>;
  /** The helper of a plugin's default export, judged once. Throws `invalid_declaration`. */
  know(declared: object): Promise<KnownHelper>;
  /** What its handler gets with this configuration; its `setup` has run. Throws `setup_failed`. */
  prepare(known: KnownHelper, config: HelperParts['config']): Promise<HelperParts>;
}

const engineChoice = 'auto';
const canEncode = encodableBy(() => engineToBe(engineChoice));

/** Makes a bench on which nothing is made before it is needed. */
export function createBench(): Bench {
  const known = new WeakMap<object, Promise<KnownHelper>>();
  const prepared = new WeakMap<KnownHelper, Map<string, Promise<HelperParts>>>();
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
    { plugin, helper }: KnownHelper,
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

  /** Fonts take long to read, and few schemas ask for them. */
  async function know(declared: object): Promise<KnownHelper> {
    const { input } = (declared ?? {}) as { input?: unknown };
    if (!mentionsDrawable(input)) return knowHelper(declared, { canEncode });
    const set = await fonts();
    return knowHelper(declared, { canDraw: (text) => set.missing(text), canEncode });
  }

  return {
    engine() {
      engine ??= openEngine();
      return engine;
    },
    know(declared) {
      // No object can be kept, and none is no declaration.
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

/** `seen` ends it for what holds itself, which is told by the judgement. */
function mentionsDrawable(schema: unknown, seen = new Set<unknown>()): boolean {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return false;
  seen.add(schema);
  return 'drawable' in schema || Object.values(schema).some((each) => mentionsDrawable(each, seen));
}

import type { Ajv } from 'ajv';
import type { Logger } from 'pino';
import { encodableBy } from '../../pool/image/encodable.js';
import type { EngineName } from '../../pool/image/select.js';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { readThrown } from '../../pool/thrown.js';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import type { Environment } from './helper-config.js';
import { type LoadRegistryOptions, loadRegistry } from './load-registry.js';
import { withVersions } from './plugin-versions.js';
import type { Registry } from './registry.js';

export interface LoadHelpersOptions {
  /** Folders of plugins. */
  folders: string[];
  /** Font files and folders besides the shipped one: a text is judged by whether they can draw it. */
  fonts: readonly string[];
  /** Which engine works on pictures, known when calls come at the latest: a format is judged by whether it writes it. */
  engine: () => EngineName | undefined;
  logger: Pick<Logger, 'error' | 'warn'>;
  /** Where what plugins cannot do without is to be set; without it, that is asked of each helper when it is called. */
  env?: Environment;
  /** Called with each faulty file, which is left out then; without it they stop the start. */
  onProblem?: LoadRegistryOptions['onProblem'];
}

/** Loads every helper for a gateway that serves them. Throws a `PluginError`, or for a font that cannot be read. */
export async function loadHelpers({
  folders,
  fonts,
  engine,
  logger,
  env,
  onProblem,
}: LoadHelpersOptions): Promise<Registry> {
  const makeVocabulary = await vocabularyMaker(fonts, engine);
  const load = () =>
    loadRegistry(folders, makeVocabulary(), {
      env,
      onProblem,
      onSkipped: ({ file, reason }) => logger.warn({ file, reason }, 'plugin file skipped'),
      onLate: (service, error) =>
        logger.error({ err: readThrown(error), service }, 'plugin failed after it was loaded'),
    });
  // Where helpers are called one by one, nothing is kept of their results.
  if (!env) return load();
  const { loaded, versionOf } = await withVersions(folders, load);
  for (const helper of loaded.values()) helper.version = versionOf(helper);
  return loaded;
}

/** Makes vocabularies that know which texts the fonts can draw, and which formats the engine writes. Each keeps what was compiled with it: a reload takes a new one. */
export async function vocabularyMaker(
  fonts: readonly string[],
  engine: () => EngineName | undefined,
): Promise<() => Ajv> {
  const fontSet = await createFontSet(fonts);
  const canEncode = encodableBy(engine);
  return () => createVocabulary({ canDraw: (text) => fontSet.missing(text), canEncode });
}

import type { Logger } from 'pino';
import { createFontSet } from '../../pool/image/text/fonts.js';
import { readThrown } from '../../pool/thrown.js';
import { createVocabulary } from '../../schemas/vocabulary/vocabulary.js';
import { loadRegistry } from './load-registry.js';
import type { Registry } from './registry.js';

export interface LoadHelpersOptions {
  /** Folders of plugins. */
  folders: string[];
  /** Font files and folders besides the shipped one: a text is judged by whether they can draw it. */
  fonts: readonly string[];
  logger: Pick<Logger, 'error'>;
}

/** Loads every helper for a gateway that serves them. Throws a `PluginError`, or for a font that cannot be read. */
export async function loadHelpers({ folders, fonts, logger }: LoadHelpersOptions): Promise<Registry> {
  const fontSet = await createFontSet(fonts);
  const vocabulary = createVocabulary({ canDraw: (text) => fontSet.missing(text) });
  return loadRegistry(folders, vocabulary, (service, error) =>
    logger.error({ err: readThrown(error), service }, 'plugin failed after it was loaded'),
  );
}

import { createRequire } from 'node:module';
import { once } from '../concurrency.js';
import type { EngineChoice } from './engine.js';
import { createSharpEngine } from './sharp-engine.js';
import type { FontSet } from './text/fonts.js';
import type { LoadText } from './text/overlay.js';

/**
 * Makes the thread's engine. `auto` falls back to Jimp only where sharp cannot be loaded, never for a picture: what
 * sharp refuses, a decoder in JavaScript must not be talked into. `timeoutSeconds` bounds one native operation.
 */
export async function loadEngine(
  choice: EngineChoice,
  { fonts, timeoutSeconds }: { fonts: () => Promise<FontSet>; timeoutSeconds: number },
) {
  const text = once(async () => {
    const [{ createTextRenderer }, set] = await Promise.all([import('./text/overlay.js'), fonts()]);
    return createTextRenderer(set);
  });
  if (choice === 'jimp') return loadJimp(text);
  let sharp: typeof import('sharp').default;
  try {
    ({ default: sharp } = await import('sharp'));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [first = ''] = message.split('\nPossible solutions');
    const fallbackReason = first.replace(/\s+/g, ' ').trim();
    if (choice === 'auto') return loadJimp(text, fallbackReason);
    throw new Error(`The image engine sharp was asked for and cannot be loaded: ${fallbackReason}`);
  }
  // Of the package, and of the library under it: another may give other bytes.
  const version = `${sharp.versions.sharp} libvips ${sharp.versions.vips}`;
  return {
    engine: createSharpEngine(sharp, { text, timeoutSeconds }),
    version,
    text,
    fallbackReason: undefined,
  };
}

/** Imported only where it is used: Jimp takes a tenth of a second to load. */
async function loadJimp(text: LoadText, fallbackReason?: string) {
  const { createJimpEngine } = await import('./jimp-engine.js');
  const { version } = createRequire(import.meta.url)('jimp/package.json') as { version: string };
  return { engine: await createJimpEngine(text), version, text, fallbackReason };
}

import type { ImageEngine } from '../../../pool/image/engine.js';
import { loadEngine } from '../../../pool/image/select.js';
import { createFontSet } from '../../../pool/image/text/fonts.js';

/** An engine with the shipped font. */
export async function makeEngine(name: ImageEngine['name']): Promise<ImageEngine> {
  const { engine } = await loadEngine(name, { fonts: createFontSet, timeoutSeconds: 10 });
  return engine;
}

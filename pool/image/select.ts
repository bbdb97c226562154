import { createRequire } from 'node:module';
import { once } from '../concurrency.js';
import type { EngineChoice, ImageEngine } from './engine.js';
import { createSharpEngine, type SharpModule } from './sharp-engine.js';
import type { FontSet } from './text/fonts.js';
import type { LoadText } from './text/overlay.js';

export interface EngineOptions {
  /** Asked for when the first text is to be drawn. */
  fonts: () => Promise<FontSet>;
  /** Whole seconds that one native operation may run. */
  timeoutSeconds: number;
}

export interface LoadedEngine {
  engine: ImageEngine;
  /** Of the package, and of the library under it: another may give other bytes. */
  version: string;
  text: LoadText;
  fallbackReason?: string;
}

/**
 * Makes the engine. `auto` falls back to Jimp only where sharp cannot be loaded, never for a picture: what sharp
 * refuses, a decoder in JavaScript must not be talked into. Each thread makes its own. `text` is what it draws texts with,
 * which is loaded with the first of them.
 */
export async function loadEngine(
  choice: EngineChoice,
  { fonts, timeoutSeconds }: EngineOptions,
): Promise<LoadedEngine> {
  const text = once(async () => {
    const [{ createTextRenderer }, set] = await Promise.all([import('./text/overlay.js'), fonts()]);
    return createTextRenderer(set);
  });
  if (choice === 'jimp') return loadJimp(text);
  const { sharp, reason } = await tryLoadSharp();
  if (sharp) {
    const version = `${sharp.versions.sharp} libvips ${sharp.versions.vips}`;
    return { engine: createSharpEngine(sharp, { text, timeoutSeconds }), version, text };
  }
  if (choice === 'sharp') throw cannotLoad(reason);
  return { ...(await loadJimp(text)), fallbackReason: reason };
}

/** Imported only where it is used: Jimp takes a tenth of a second to load. */
async function loadJimp(text: LoadText): Promise<LoadedEngine> {
  const { createJimpEngine } = await import('./jimp-engine.js');
  const { version } = createRequire(import.meta.url)('jimp/package.json') as { version: string };
  return { engine: await createJimpEngine({ text }), version, text };
}

type Loaded = { sharp: SharpModule; reason?: undefined } | { sharp?: undefined; reason: string };

async function tryLoadSharp(): Promise<Loaded> {
  try {
    return { sharp: (await import('sharp')).default };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const [reason = ''] = message.split('\nPossible solutions');
    return { reason: reason.replace(/\s+/g, ' ').trim() };
  }
}

function cannotLoad(reason: string): Error {
  return new Error(`The image engine sharp was asked for and cannot be loaded: ${reason}`);
}

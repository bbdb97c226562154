import type { ImageEngine } from './engine.js';
import { createSharpEngine, type SharpModule } from './sharp/engine.js';
import type { FontSet } from './text/fonts.js';
import { createTextRenderer } from './text/overlay.js';

export type EngineName = ImageEngine['name'];
export type EngineChoice = 'auto' | EngineName;

export interface EngineOptions {
  fonts: FontSet;
  /** Whole seconds that one native operation may run. */
  timeoutSeconds: number;
}

/**
 * Makes the engine. `auto` falls back to Jimp only where sharp cannot be loaded, never for a picture: what sharp
 * refuses, a decoder in JavaScript must not be talked into. Each thread makes its own.
 */
export async function loadEngine(
  choice: EngineChoice,
  { fonts, timeoutSeconds }: EngineOptions,
): Promise<{ engine: ImageEngine; fallbackReason?: string }> {
  const text = await createTextRenderer(fonts);
  if (choice === 'jimp') return { engine: await loadJimp(text) };
  const { sharp, reason } = await tryLoadSharp();
  if (sharp) return { engine: createSharpEngine(sharp, { text, timeoutSeconds }) };
  if (choice === 'sharp') throw cannotLoad(reason);
  return { engine: await loadJimp(text), fallbackReason: reason };
}

/** Imported only where it is used: Jimp takes a tenth of a second to load. */
async function loadJimp(text: Awaited<ReturnType<typeof createTextRenderer>>): Promise<ImageEngine> {
  const { createJimpEngine } = await import('./jimp/engine.js');
  return createJimpEngine({ text });
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

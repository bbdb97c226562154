import { createRequire } from 'node:module';
import type { CanEncode } from '../../schemas/keywords/encodable.js';
import type { OutputFormat } from './engine.js';
import { canEncode, cannotEncode, outputFormats } from './formats.js';
import type { EngineChoice, EngineName } from './select.js';

const engines: readonly EngineName[] = ['sharp', 'jimp'];

/** Judges formats by the engine that runs, which is asked for only where that matters; while nobody knows it, each format passes. */
export function encodableBy(engine: () => EngineName | undefined): CanEncode {
  return (text) => {
    const format = outputFormats.find((each) => each === text);
    if (format === undefined || format === 'same' || areAllAble(format)) return undefined;
    const name = engine();
    return name === undefined || canEncode(name, format) ? undefined : cannotEncode(name, format);
  };
}

function areAllAble(format: OutputFormat): boolean {
  return engines.every((each) => canEncode(each, format));
}

let hasSharp: boolean | undefined;

/** The engine that `loadEngine` will come to, for whoever cannot wait for it: to find out, sharp is loaded in this thread. */
export function engineToBe(choice: EngineChoice): EngineName {
  if (choice !== 'auto') return choice;
  hasSharp ??= canLoadSharp();
  return hasSharp ? 'sharp' : 'jimp';
}

function canLoadSharp(): boolean {
  try {
    createRequire(import.meta.url)('sharp');
    return true;
  } catch {
    return false;
  }
}

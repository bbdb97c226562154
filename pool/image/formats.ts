import { createRequire } from 'node:module';
import type { CanEncode } from '../../schemas/keywords/keyword.js';
import type { EngineChoice, EngineName, OutputFormat, ResultFormat } from './engine.js';

/** What `encode` takes, in the order of messages. */
export const outputFormats = [
  'png',
  'jpg',
  'webp',
  'avif',
  'same',
] as const satisfies readonly OutputFormat[];

/** The media type of each format, of pictures that come and of those that are made. */
export const mediaTypes: Record<ResultFormat, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
};

/** Formats that keep an animation, with an engine that writes any. */
const animatedFormats: readonly ResultFormat[] = ['webp', 'gif'];

/** Formats that give up some of the picture for fewer bytes, so that they take a `quality`. */
export const lossyFormats: readonly ResultFormat[] = ['jpg', 'webp', 'avif'];

/** What each engine writes; it is the one list of that. */
const encoders: Record<EngineName, { formats: readonly ResultFormat[]; animations: boolean }> = {
  sharp: { formats: ['png', 'jpg', 'webp', 'avif', 'gif'], animations: true },
  jimp: { formats: ['png', 'jpg', 'webp'], animations: false },
};

/** Whether an engine writes a format, whatever the picture; `same` is one that each can be asked for. */
export function canEncode(engine: EngineName, format: OutputFormat | ResultFormat): boolean {
  return format === 'same' || encoders[engine].formats.includes(format);
}

/**
 * What is wrong with a format that an engine does not write, to stand after the name of its field. The caller did not
 * choose the engine: it says first what can be had.
 */
export function cannotEncode(engine: EngineName, format: ResultFormat): string {
  // A gif is made only where `same` is asked for.
  const able = outputFormats.filter(
    (each) => canEncode(engine, each) && (format !== 'gif' || each !== 'same'),
  );
  return `must be ${either(able)} here: the image engine ${engine} writes no ${format}; sharp does, where HELPER_IMAGE_ENGINE lets it and it is installed`;
}

/** Whether an engine keeps the animation of a source in this format. */
export function keepsAnimation(engine: EngineName, format: ResultFormat): boolean {
  return encoders[engine].animations && animatedFormats.includes(format);
}

/** What is wrong with `same` for an animation that would be lost, to stand after the name of its field. */
export function cannotKeepAnimation(engine: EngineName, format: ResultFormat): string {
  const able = outputFormats.filter((each) => each !== 'same' && canEncode(engine, each));
  return `must be ${either(able)} here, which give the first frame: this ${format} is animated, and the image engine ${engine} writes no animations; sharp does, where HELPER_IMAGE_ENGINE lets it and it is installed`;
}

/** Names in a sentence, e.g. `png, jpg or webp`. */
export function either(names: readonly string[], word = 'or'): string {
  return names.length === 1 ? `${names[0]}` : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;
}

/** Checks formats by the engine that runs, which is read only where it matters; while it is unknown, each format passes. */
export function encodableBy(engine: () => EngineName | undefined): CanEncode {
  return (text) => {
    const format = outputFormats.find((each) => each === text);
    if (format === undefined || (canEncode('sharp', format) && canEncode('jimp', format))) return undefined;
    const name = engine();
    return name === undefined || canEncode(name, format)
      ? undefined
      : cannotEncode(name, format as ResultFormat);
  };
}

let hasSharp: boolean | undefined;

/** The engine that `loadEngine` will choose, found without waiting: sharp is loaded in this thread. */
export function engineToBe(choice: EngineChoice): EngineName {
  if (choice !== 'auto') return choice;
  if (hasSharp === undefined) {
    try {
      createRequire(import.meta.url)('sharp');
      hasSharp = true;
    } catch {
      hasSharp = false;
    }
  }
  return hasSharp ? 'sharp' : 'jimp';
}

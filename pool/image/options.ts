import { createRequire } from 'node:module';
import type { CanEncode } from '../../schemas/keywords/keyword.js';
import { codedError } from '../errors.js';
import {
  type BorderOptions,
  type CompositeOptions,
  type CropOptions,
  type EncodeOptions,
  type EngineChoice,
  type EngineName,
  type Fit,
  type LogoOptions,
  type Measure,
  type OutputFormat,
  type Position,
  percentIn,
  type ResizeOptions,
  type ResultFormat,
  type Size,
  type SourceImageFormat,
  type WatermarkOptions,
} from './engine.js';
import type { Mark, Placing, TextMark } from './mark.js';
import type { Raster, Rectangle } from './raster.js';

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

/** The longest side that may be asked for: what a WebP can be. */
const longestSide = 16_383;
const fits: readonly Fit[] = ['cover', 'inside', 'fill'];

type Problem = { field: string; problem: string };

export function validateResize(options: ResizeOptions): ResizeOptions & { fit: Fit } {
  checkNames('resize', options, ['width', 'height', 'fit']);
  const { width, height, fit = 'cover' } = options;
  if (width === undefined && height === undefined) {
    throw new TypeError('resize: needs width, height or both');
  }
  if (!fits.includes(fit)) throw new TypeError(`resize: fit must be ${either(fits)}, but is ${show(fit)}`);
  const given = Object.entries({ width, height }).filter(([, value]) => value !== undefined);
  refuse(
    'resize',
    given.map(([name, value]) => checkRange('resize', name, value, 1, longestSide)),
  );
  return { width, height, fit };
}

export function validateBorder(options: BorderOptions): BorderOptions {
  const measures = ['width', 'top', 'right', 'bottom', 'left', 'radius'] as const;
  checkNames('border', options, [...measures, 'color', 'inset']);
  const { color } = options;
  if (typeof color !== 'string' || !/^#[0-9a-f]{6}$/i.test(color)) {
    throw new TypeError(`border: color must be #rrggbb, but is ${show(color)}`);
  }
  refuse(
    'border',
    measures
      .filter((name) => name === 'width' || options[name] !== undefined)
      .map((name) => checkMeasure('border', name, options[name], longestSide)),
  );
  return options;
}

/** A rectangle inside a picture of this size. */
export function validateCrop(options: CropOptions, size: Size): Rectangle {
  checkNames('crop', options, ['left', 'top', 'width', 'height']);
  const { left, top, width, height } = options;
  const picture = `the picture is ${size.width} × ${size.height}`;
  refuse('crop', [
    checkRange('crop', 'left', left, 0, size.width - 1, picture),
    checkRange('crop', 'top', top, 0, size.height - 1, picture),
  ]);
  refuse('crop', [
    checkRange('crop', 'width', width, 1, size.width - left, `${picture} and left is ${left}`),
    checkRange('crop', 'height', height, 1, size.height - top, `${picture} and top is ${top}`),
  ]);
  return { left, top, width, height };
}

/** Degrees from 0 up to 360. */
export function validateRotate(degrees: number): number {
  if (typeof degrees !== 'number' || !Number.isFinite(degrees)) {
    throw new TypeError(`rotate: degrees must be a finite number, but is ${show(degrees)}`);
  }
  const turned = ((degrees % 360) + 360) % 360;
  return turned === 0 ? 0 : turned;
}

export function validateComposite(options: CompositeOptions): { left: number; top: number } {
  checkNames('composite', options, ['left', 'top']);
  const { left = 0, top = 0 } = options;
  for (const [name, value] of Object.entries({ left, top })) {
    if (Number.isSafeInteger(value)) continue;
    throw new TypeError(`composite: ${name} must be a whole number, but is ${show(value)}`);
  }
  return { left, top };
}

/** What a picture is encoded from, as far as that says what it can be encoded as. */
interface EncodedFile {
  engine: EngineName;
  format: SourceImageFormat;
  /** Frames of the file, though the engine may give only the first. */
  frames: number;
}

/** The format that is asked for, or the source's, and what it is written with. */
export function validateEncode(
  format: OutputFormat,
  options: EncodeOptions,
  file: EncodedFile,
): { result: ResultFormat; settings: EncodeOptions } {
  if (!outputFormats.includes(format)) {
    throw new TypeError(`encode: format must be ${either(outputFormats)}, but is ${show(format)}`);
  }
  checkNames('encode', options, ['quality']);
  const { quality } = options;
  const result = format === 'same' ? file.format : format;
  const outOfRange = quality === undefined ? undefined : checkRange('encode', 'quality', quality, 1, 100);
  refuse('encode', [outOfRange ?? qualityOfNone(format, result, quality), unwritable(format, result, file)]);
  return { result, settings: quality === undefined ? {} : { quality } };
}

function qualityOfNone(
  format: OutputFormat,
  result: ResultFormat,
  quality: number | undefined,
): Problem | undefined {
  if (quality === undefined || lossyFormats.includes(result)) return undefined;
  const why = format === 'same' ? `the picture is a ${result}, and has none` : `a ${result} has none`;
  return { field: 'quality', problem: `is for ${either(lossyFormats, 'and')}; ${why}` };
}

function unwritable(format: OutputFormat, result: ResultFormat, file: EncodedFile): Problem | undefined {
  if (!canEncode(file.engine, result)) return { field: 'format', problem: cannotEncode(file.engine, result) };
  if (format !== 'same' || file.frames === 1 || keepsAnimation(file.engine, result)) return undefined;
  return { field: 'format', problem: cannotKeepAnimation(file.engine, result) };
}

/** The same for whole pixels from 0, or per cent. */
function checkMeasure(operation: string, field: string, value: unknown, most: number): Problem | undefined {
  const percent = percentIn(value);
  if (percent === undefined) return checkRange(operation, field, value, 0, most, 'or per cent such as "5%"');
  return percent <= 100 ? undefined : { field, problem: `must be at most 100%, but is ${value}` };
}

/** A TypeError for what is no whole number; a problem for one out of the range. */
function checkRange(
  operation: string,
  field: string,
  value: unknown,
  least: number,
  most: number,
  why?: string,
): Problem | undefined {
  const wanted = `must be a whole number from ${least} to ${most}${why ? ` (${why})` : ''}`;
  if (!Number.isInteger(value)) {
    throw new TypeError(`${operation}: ${field} ${wanted}, but is ${show(value)}`);
  }
  const number = value as number;
  return number >= least && number <= most ? undefined : { field, problem: `${wanted}, but is ${number}` };
}

/** The same as `invalidInput` of the plugins' interface, for several options at once. */
function refuse(operation: string, found: readonly (Problem | undefined)[]): void {
  const details = found.filter((problem) => problem !== undefined);
  if (details.length === 0) return;
  const message = details.map(({ field, problem }) => `${field} ${problem}`).join('; ');
  throw codedError('invalid_input', `${operation}: ${message}`, { details });
}

/** A misspelt option would be passed over in silence, and the picture be another than its author thinks. */
function checkNames(operation: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${operation}: takes an object of ${either(names)}, but got ${show(options)}`);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${operation}: has no option ${show(unknown)}; there is ${either(names)}`);
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === undefined ? 'missing' : `of type ${Array.isArray(value) ? 'array' : typeof value}`;
}

const positions: readonly Position[] = ['top-left', 'top-right', 'bottom-left', 'bottom-right', 'center'];
const placingNames = ['position', 'opacity', 'margin', 'rotate', 'tile'];
const textNames = ['text', 'fontSize', 'color', 'outline', 'wrap'];
const logoNames = ['mark', 'scale'];

/** The longest length that may be asked for, in pixels. */
const longestMeasure = 5000;
/** A logo that would be narrower than a thousandth of the picture is not to be seen. */
const leastScale = 0.001;
const defaults = { position: 'bottom-right', opacity: 0.5, margin: 'auto', scale: 0.2 } as const;

/** A mark with its defaults; `pixels` are those of the picture that it is, where it is one. */
export function validateMark(
  options: WatermarkOptions | LogoOptions,
  pixels: (() => Promise<Raster>) | undefined,
): Mark {
  const given = pixels === undefined ? withoutMissing(options, 'mark') : withoutMissing(options, 'text');
  checkNames('watermark', given, [...(pixels === undefined ? textNames : logoNames), ...placingNames]);
  const placing = validatePlacing(options);
  if (pixels === undefined) return { ...placing, text: validateText(options as WatermarkOptions) };
  const { scale = defaults.scale } = options as { scale?: number };
  refuse('watermark', [requireBetween('scale', scale, leastScale, 1)]);
  return { ...placing, logo: { pixels, scale } };
}

/** Of text and mark the other may be there, and undefined. */
function withoutMissing(options: object, name: 'mark' | 'text'): object {
  if (typeof options !== 'object' || options === null) return options;
  const { [name]: other, ...rest } = options as Record<string, unknown>;
  return other === undefined ? rest : options;
}

function validatePlacing(options: WatermarkOptions | LogoOptions): Placing {
  const {
    position = defaults.position,
    opacity = defaults.opacity,
    margin = defaults.margin,
    tile,
  } = options;
  if (!positions.includes(position)) {
    throw new TypeError(`watermark: position must be ${either(positions)}, but is ${show(position)}`);
  }
  if (tile !== undefined) checkNames('watermark.tile', tile, ['spacing']);
  const spacing = tile?.spacing ?? 'auto';
  refuse('watermark', [
    requireBetween('opacity', opacity, 0, 1),
    checkDistance('margin', margin),
    checkDistance('spacing', spacing),
  ]);
  return {
    position,
    opacity,
    margin,
    degrees: validateRotate(options.rotate ?? 0),
    tile: tile && { spacing },
  };
}

function validateText({
  text,
  fontSize = 'auto',
  color = 'auto',
  outline,
  wrap,
}: WatermarkOptions): TextMark {
  if (typeof text !== 'string') {
    throw new TypeError(`watermark: text must be a string, but is ${show(text)}`);
  }
  if (color !== 'auto' && !/^#[\da-f]{6}$/i.test(color)) {
    throw new TypeError(`watermark: color must be #rrggbb or auto, but is ${show(color)}`);
  }
  if (wrap !== undefined) checkNames('watermark.wrap', wrap, ['maxLines']);
  refuse('watermark', [
    fontSize === 'auto' ? undefined : requireBetween('fontSize', fontSize, 1, longestMeasure),
    outline === undefined ? undefined : checkRange('watermark', 'outline', outline, 0, longestMeasure),
    wrap && checkRange('watermark', 'maxLines', wrap.maxLines, 1, longestMeasure),
  ]);
  return { text, fontSize, color, outline, wrap };
}

/** A TypeError for what is no number; a problem for one out of the range. */
function requireBetween(field: string, value: unknown, least: number, most: number): Problem | undefined {
  const wanted = `must be a number from ${least} to ${most}`;
  if (typeof value !== 'number' || Number.isNaN(value)) {
    throw new TypeError(`watermark: ${field} ${wanted}, but is ${show(value)}`);
  }
  return value >= least && value <= most ? undefined : { field, problem: `${wanted}, but is ${value}` };
}

function checkDistance(field: string, value: Measure | 'auto'): Problem | undefined {
  return value === 'auto' ? undefined : checkMeasure('watermark', field, value, longestMeasure);
}

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
  type Focus,
  type LogoOptions,
  type OutputFormat,
  type Position,
  percentIn,
  type ResizeOptions,
  type ResultFormat,
  type RotateOptions,
  type Size,
  type SourceImageFormat,
  type WatermarkOptions,
} from './engine.js';
import { isFocus } from './focus.js';
import type { Point, Raster, Rectangle } from './raster.js';
import type { Mark, Placing, TextMark } from './watermark.js';

/** What `encode` accepts, in the order of messages. */
export const outputFormats: readonly OutputFormat[] = ['png', 'jpg', 'webp', 'avif', 'same'];

/** The media type of each format, of pictures that come and of those that are made. */
export const mediaTypes: Record<ResultFormat, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  avif: 'image/avif',
};

/** Formats that give up some of the picture for fewer bytes, so that they have a `quality`. */
const lossyFormats: readonly ResultFormat[] = ['jpg', 'webp', 'avif'];

const jimpFormats: readonly ResultFormat[] = ['png', 'jpg', 'webp'];

/** Whether an engine writes a format, whatever the picture; `same` is one that each can be asked for. */
export function canEncode(engine: EngineName, format: OutputFormat | ResultFormat): boolean {
  return engine === 'sharp' || format === 'same' || jimpFormats.includes(format);
}

/** Whether an engine keeps the animation of a source in this format. */
export function keepsAnimation(engine: EngineName, format: ResultFormat): boolean {
  return engine === 'sharp' && (format === 'webp' || format === 'gif');
}

const elsewhere = 'sharp does, where HELPER_IMAGE_ENGINE lets it and it is installed';

/** What is wrong with a format that Jimp does not write. The caller did not choose it: first what can be had. */
export function cannotEncode(format: ResultFormat): string {
  // A gif is made only where `same` is asked for.
  const able = format === 'gif' ? jimpFormats : [...jimpFormats, 'same'];
  return `must be ${either(able)} here: the image engine jimp writes no ${format}; ${elsewhere}`;
}

/** Names in a sentence, e.g. `png, jpg or webp`. */
function either(names: readonly string[], word = 'or'): string {
  return names.length === 1 ? `${names[0]}` : `${names.slice(0, -1).join(', ')} ${word} ${names.at(-1)}`;
}

/** Checks formats by the engine that runs, which is read only where it matters; until it is known each passes. */
export function encodableBy(engine: () => EngineName | undefined): CanEncode {
  return (text) => {
    const format = outputFormats.find((each) => each === text);
    if (!format || format === 'same' || canEncode('jimp', format)) return undefined;
    const name = engine();
    return name === undefined || canEncode(name, format) ? undefined : cannotEncode(format);
  };
}

/** The engine that `loadEngine` will choose, found without waiting: sharp is loaded in this thread. */
export function engineToBe(choice: EngineChoice): EngineName {
  if (choice !== 'auto') return choice;
  try {
    createRequire(import.meta.url)('sharp');
    return 'sharp';
  } catch {
    return 'jimp';
  }
}

/** The longest side that may be asked for: what a WebP can be. */
const longestSide = 16_383;
const fits: readonly Fit[] = ['cover', 'inside', 'fill'];

export function validateResize(options: ResizeOptions): ResizeOptions & { fit: Fit; focus: Focus } {
  const { range, refuse } = checkOptions('resize', options, ['width', 'height', 'fit', 'focus']);
  const { width, height, fit = 'cover', focus } = options;
  if (width === undefined && height === undefined) {
    throw new TypeError('resize: needs width, height or both');
  }
  if (!fits.includes(fit)) throw new TypeError(`resize: fit must be ${either(fits)}, but is ${show(fit)}`);
  if (focus !== undefined && fit !== 'cover')
    throw new TypeError(`resize: focus is for cover, not for ${fit}`);
  if (focus !== undefined && !isFocus(focus)) {
    throw new TypeError(`resize: focus must be a side, a corner, "30%,20%" or auto, but is ${show(focus)}`);
  }
  if (width !== undefined) range('width', width, 1, longestSide);
  if (height !== undefined) range('height', height, 1, longestSide);
  refuse();
  return { width, height, fit, focus: focus ?? 'center' };
}

const borderMeasures = ['width', 'top', 'right', 'bottom', 'left', 'radius'] as const;

export function validateBorder(options: BorderOptions): BorderOptions {
  const { measure, refuse } = checkOptions('border', options, [...borderMeasures, 'color', 'inset']);
  validateColor('border: color', options.color);
  for (const name of borderMeasures) {
    if (name === 'width' || options[name] !== undefined) measure(name, options[name], longestSide);
  }
  refuse();
  return options;
}

/** A rectangle inside a picture of this size. */
export function validateCrop(options: CropOptions, size: Size): Rectangle {
  const { range, refuse } = checkOptions('crop', options, ['left', 'top', 'width', 'height']);
  const { left, top, width, height } = options;
  const picture = `the picture is ${size.width} × ${size.height}`;
  range('left', left, 0, size.width - 1, picture);
  range('top', top, 0, size.height - 1, picture);
  refuse();
  range('width', width, 1, size.width - left, `${picture} and left is ${left}`);
  range('height', height, 1, size.height - top, `${picture} and top is ${top}`);
  refuse();
  return { left, top, width, height };
}

/** Degrees from 0 up to 360. */
export function validateRotate(degrees: number): number {
  if (typeof degrees !== 'number' || !Number.isFinite(degrees)) {
    throw new TypeError(`rotate: degrees must be a finite number, but is ${show(degrees)}`);
  }
  return ((degrees % 360) + 360) % 360;
}

/** The colour of what a turn leaves empty; undefined for none. */
export function validateBackground(options: RotateOptions): string | undefined {
  checkOptions('rotate', options, ['background']);
  const { background } = options;
  if (background !== undefined) validateColor('rotate: background', background);
  return background;
}

export function validateComposite(options: CompositeOptions): Point {
  checkOptions('composite', options, ['left', 'top']);
  const { left = 0, top = 0 } = options;
  for (const [name, value] of Object.entries({ left, top })) {
    if (Number.isSafeInteger(value)) continue;
    throw new TypeError(`composite: ${name} must be a whole number, but is ${show(value)}`);
  }
  return { left, top };
}

/** What a picture is encoded from; `frames` are the file's, though the engine may give only the first. */
interface EncodedFile {
  engine: EngineName;
  format: SourceImageFormat;
  frames: number;
}

/** The format that is asked for, or the source's, and what it is written with. */
export function validateEncode(
  format: OutputFormat,
  options: EncodeOptions,
  { engine, format: source, frames }: EncodedFile,
): { result: ResultFormat; settings: EncodeOptions } {
  if (!outputFormats.includes(format)) {
    throw new TypeError(`encode: format must be ${either(outputFormats)}, but is ${show(format)}`);
  }
  const { range, wrong, refuse } = checkOptions('encode', options, ['quality']);
  const { quality } = options;
  const same = format === 'same';
  const result = same ? source : format;
  if (quality !== undefined && range('quality', quality, 1, 100) && !lossyFormats.includes(result)) {
    const why = same ? `the picture is a ${result}, and has none` : `a ${result} has none`;
    wrong('quality', `is for ${either(lossyFormats, 'and')}; ${why}`);
  }
  if (!canEncode(engine, result)) {
    wrong('format', cannotEncode(result));
  } else if (same && frames > 1 && !keepsAnimation(engine, result)) {
    const lost = `this ${result} is animated, and the image engine jimp writes no animations`;
    wrong('format', `must be ${either(jimpFormats)} here, which give the first frame: ${lost}; ${elsewhere}`);
  }
  refuse();
  return { result, settings: quality === undefined ? {} : { quality } };
}

const positions: readonly Position[] = ['top-left', 'top-right', 'bottom-left', 'bottom-right', 'center'];
const placingNames = ['position', 'opacity', 'margin', 'rotate', 'tile'];
const textNames = ['text', 'fontSize', 'color', 'outline', 'wrap'];
const logoNames = ['mark', 'scale'];

/** The longest length of a mark that may be asked for, in pixels. */
const longestMeasure = 5000;
/** A logo that would be narrower than a thousandth of the picture is not to be seen. */
const leastScale = 0.001;

/** A mark with its defaults; `pixels` are those of the picture that it is, where it is one. */
export function validateMark(
  options: WatermarkOptions | LogoOptions,
  pixels: (() => Promise<Raster>) | undefined,
): Mark {
  // Of text and mark the other may be there, and undefined.
  const [own, other] = pixels === undefined ? [textNames, 'mark'] : [logoNames, 'text'];
  const check = checkOptions('watermark', options, [...own, ...placingNames], other);
  const placing = validatePlacing(options, check);
  if (pixels === undefined) return { ...placing, text: validateText(options as WatermarkOptions, check) };
  const { scale = 0.2 } = options as LogoOptions;
  check.range('scale', scale, leastScale, 1, '', 'number');
  check.refuse();
  return { ...placing, logo: { pixels, scale } };
}

function validatePlacing(options: WatermarkOptions | LogoOptions, check: Check): Placing {
  const { position = 'bottom-right', opacity = 0.5, margin = 'auto', tile } = options;
  if (!positions.includes(position)) {
    throw new TypeError(`watermark: position must be ${either(positions)}, but is ${show(position)}`);
  }
  if (tile !== undefined) checkOptions('watermark.tile', tile, ['spacing']);
  const spacing = tile?.spacing ?? 'auto';
  check.range('opacity', opacity, 0, 1, '', 'number');
  if (margin !== 'auto') check.measure('margin', margin, longestMeasure);
  if (spacing !== 'auto') check.measure('spacing', spacing, longestMeasure);
  check.refuse();
  const degrees = validateRotate(options.rotate ?? 0);
  return { position, opacity, margin, degrees, tile: tile && { spacing } };
}

function validateText(options: WatermarkOptions, check: Check): TextMark {
  const { text, fontSize = 'auto', color = 'auto', outline, wrap } = options;
  if (typeof text !== 'string') {
    throw new TypeError(`watermark: text must be a string, but is ${show(text)}`);
  }
  if (color !== 'auto' && !hexColor.test(color)) {
    throw new TypeError(`watermark: color must be #rrggbb or auto, but is ${show(color)}`);
  }
  if (wrap !== undefined) checkOptions('watermark.wrap', wrap, ['maxLines']);
  if (fontSize !== 'auto') check.range('fontSize', fontSize, 1, longestMeasure, '', 'number');
  if (outline !== undefined) check.range('outline', outline, 0, longestMeasure);
  if (wrap) check.range('maxLines', wrap.maxLines, 1, longestMeasure);
  check.refuse();
  return { text, fontSize, color, outline, wrap };
}

const hexColor = /^#[\da-f]{6}$/i;

function validateColor(name: string, color: unknown): void {
  if (typeof color === 'string' && hexColor.test(color)) return;
  throw new TypeError(`${name} must be #rrggbb, but is ${show(color)}`);
}

type Check = ReturnType<typeof checkOptions>;

/**
 * Checks of an operation's options, whose names come first: a misspelt one would be ignored in silence. A wrong kind is
 * a TypeError at once; numbers out of range are refused together. `ifUndefined` may be named without a value.
 */
function checkOptions(operation: string, options: unknown, names: readonly string[], ifUndefined?: string) {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${operation}: takes an object of ${either(names)}, but got ${show(options)}`);
  }
  for (const [name, value] of Object.entries(options)) {
    if (names.includes(name) || (name === ifUndefined && value === undefined)) continue;
    throw new TypeError(`${operation}: has no option ${show(name)}; there is ${either(names)}`);
  }
  const details: { field: string; problem: string }[] = [];

  function wrong(field: string, problem: string): void {
    details.push({ field, problem });
  }

  /** Whether it is in the range. */
  function range(
    field: string,
    value: unknown,
    least: number,
    most: number,
    why = '',
    kind: 'whole number' | 'number' = 'whole number',
  ): boolean {
    const wanted = `must be a ${kind} from ${least} to ${most}${why && ` (${why})`}`;
    if (typeof value !== 'number' || (kind === 'number' ? Number.isNaN(value) : !Number.isInteger(value))) {
      throw new TypeError(`${operation}: ${field} ${wanted}, but is ${show(value)}`);
    }
    const fits = value >= least && value <= most;
    if (!fits) wrong(field, `${wanted}, but is ${value}`);
    return fits;
  }

  return {
    wrong,
    range,
    /** Whole pixels from 0, or per cent. */
    measure(field: string, value: unknown, most: number): void {
      const percent = percentIn(value);
      if (percent === undefined) range(field, value, 0, most, 'or per cent such as "5%"');
      else if (percent > 100) wrong(field, `must be at most 100%, but is ${value}`);
    },
    /** Throws the same as `invalidInput` of the plugins' interface, for all that was found. */
    refuse(): void {
      if (details.length === 0) return;
      const message = details.map(({ field, problem }) => `${field} ${problem}`).join('; ');
      throw codedError('invalid_input', `${operation}: ${message}`, { details });
    },
  };
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === undefined ? 'missing' : `of type ${Array.isArray(value) ? 'array' : typeof value}`;
}

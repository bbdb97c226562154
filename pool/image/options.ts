import { codedError } from '../coded-error.js';
import type {
  BorderOptions,
  CompositeOptions,
  CropOptions,
  EncodeOptions,
  Fit,
  ImageEngine,
  OutputFormat,
  ResizeOptions,
  ResultFormat,
  SourceImageFormat,
} from './engine.js';
import {
  canEncode,
  cannotEncode,
  cannotKeepAnimation,
  either,
  keepsAnimation,
  lossyFormats,
  outputFormats,
} from './formats.js';
import type { Rectangle } from './geometry/crop.js';
import { percentIn } from './measure.js';

/** The longest side that may be asked for: what a WebP can be. */
const longestSide = 16_383;
const fits: readonly Fit[] = ['cover', 'inside', 'fill'];

export type Problem = { field: string; problem: string };

export function judgeResize(options: ResizeOptions): ResizeOptions & { fit: Fit } {
  checkNames('resize', options, ['width', 'height', 'fit']);
  const { width, height, fit = 'cover' } = options;
  if (width === undefined && height === undefined) {
    throw new TypeError('resize: needs width, height or both');
  }
  if (!fits.includes(fit)) throw new TypeError(`resize: fit must be ${either(fits)}, but is ${show(fit)}`);
  const given = Object.entries({ width, height }).filter(([, value]) => value !== undefined);
  refuse(
    'resize',
    given.map(([name, value]) => range('resize', name, value, 1, longestSide)),
  );
  return { width, height, fit };
}

export function judgeBorder(options: BorderOptions): BorderOptions {
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
      .map((name) => measure('border', name, options[name], longestSide)),
  );
  return options;
}

/** A rectangle inside a picture of this size. */
export function judgeCrop(options: CropOptions, size: { width: number; height: number }): Rectangle {
  checkNames('crop', options, ['left', 'top', 'width', 'height']);
  const { left, top, width, height } = options;
  const picture = `the picture is ${size.width} × ${size.height}`;
  refuse('crop', [
    range('crop', 'left', left, 0, size.width - 1, picture),
    range('crop', 'top', top, 0, size.height - 1, picture),
  ]);
  refuse('crop', [
    range('crop', 'width', width, 1, size.width - left, `${picture} and left is ${left}`),
    range('crop', 'height', height, 1, size.height - top, `${picture} and top is ${top}`),
  ]);
  return { left, top, width, height };
}

/** Degrees from 0 up to 360. */
export function judgeRotate(degrees: number): number {
  if (typeof degrees !== 'number' || !Number.isFinite(degrees)) {
    throw new TypeError(`rotate: degrees must be a finite number, but is ${show(degrees)}`);
  }
  const turned = ((degrees % 360) + 360) % 360;
  return turned === 0 ? 0 : turned;
}

export function judgeComposite(options: CompositeOptions): { left: number; top: number } {
  checkNames('composite', options, ['left', 'top']);
  const { left = 0, top = 0 } = options;
  for (const [name, value] of Object.entries({ left, top })) {
    if (Number.isSafeInteger(value)) continue;
    throw new TypeError(`composite: ${name} must be a whole number, but is ${show(value)}`);
  }
  return { left, top };
}

/** What a picture is encoded from, as far as that says what it can be encoded as. */
export interface EncodedFile {
  engine: ImageEngine['name'];
  format: SourceImageFormat;
  /** Frames of the file, though the engine may give only the first. */
  frames: number;
}

/** The format that is asked for, or the source's, and what it is written with. */
export function judgeEncode(
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
  const outOfRange = quality === undefined ? undefined : range('encode', 'quality', quality, 1, 100);
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
export function measure(operation: string, field: string, value: unknown, most: number): Problem | undefined {
  const percent = percentIn(value);
  if (percent === undefined) return range(operation, field, value, 0, most, 'or per cent such as "5%"');
  return percent <= 100 ? undefined : { field, problem: `must be at most 100%, but is ${value}` };
}

/** A TypeError for what is no whole number; a problem for one out of the range. */
export function range(
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
export function refuse(operation: string, found: readonly (Problem | undefined)[]): void {
  const details = found.filter((problem) => problem !== undefined);
  if (details.length === 0) return;
  const message = details.map(({ field, problem }) => `${field} ${problem}`).join('; ');
  throw codedError('invalid_input', `${operation}: ${message}`, { details });
}

/** A misspelt option would be passed over in silence, and the picture be another than its author thinks. */
export function checkNames(operation: string, options: unknown, names: readonly string[]): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`${operation}: takes an object of ${either(names)}, but got ${show(options)}`);
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${operation}: has no option ${show(unknown)}; there is ${either(names)}`);
}

export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === undefined ? 'missing' : `of type ${Array.isArray(value) ? 'array' : typeof value}`;
}

/** A length in a picture: whole pixels, or per cent of a side, such as `"5%"`. */
export type Measure = number | `${number}%`;

const percent = /^\d{1,9}(?:\.\d{1,9})?%$/;

/** The per cent that a text says; undefined for what is none. */
export function percentIn(value: unknown): number | undefined {
  return typeof value === 'string' && percent.test(value) ? Number.parseFloat(value) : undefined;
}

/** The measure in whole pixels, where 100 per cent are `whole`. */
export function inPixels(measure: Measure, whole: number): number {
  return typeof measure === 'number' ? measure : Math.round(((percentIn(measure) ?? 0) / 100) * whole);
}

/** In pixels; of an animation, of one frame. */
export interface Size {
  width: number;
  height: number;
}

/** Output formats, by the name that answers use. The engine jimp writes no avif. */
export type ImageFormat = 'png' | 'jpg' | 'webp' | 'avif';
/** Formats that pictures come in, by the same names. */
export type SourceImageFormat = 'png' | 'jpg' | 'webp' | 'gif' | 'avif';

/** What the file of a picture says of itself, before anything is decoded. */
export interface SourceFile {
  /** Bytes. */
  size: number;
  /** 1 for a still picture; counted even where the engine gives the first alone. */
  frames: number;
  /** As stored, in EXIF's numbers: 1 is upright. */
  orientation: Orientation;
  /** Whether it may have transparent pixels. */
  hasAlpha: boolean;
}

/** Pixels as a handler gets them: sRGB, 8 bit, four bytes each (red, green, blue, alpha), not premultiplied. */
export interface Pixels extends Size {
  data: Uint8Array;
}

/** What a picture may be encoded as: `same` is the format that it came in. */
export type OutputFormat = ImageFormat | 'same';

/** What that gives: a gif only where one came in. */
export type ResultFormat = ImageFormat | SourceImageFormat;

export type Corner = 'top-left' | 'top-right' | 'bottom-left' | 'bottom-right';

export type Position = Corner | 'center';

/** What an image may cost at most, as input and as result. */
export interface ImageLimits {
  /** Width × height × frames. */
  maxPixels: number;
  maxFrames: number;
}

export interface BorderOptions {
  /** On each side: pixels, 0 to 16383, or per cent of the picture's shorter side, `"5%"`. */
  width: Measure;
  /** On this side, in place of `width`. */
  top?: Measure | undefined;
  right?: Measure | undefined;
  bottom?: Measure | undefined;
  left?: Measure | undefined;
  /** `#rrggbb`. */
  color: string;
  /** Rounds the outer corners, pixels or per cent; what lies outside is transparent, in a jpg white. Default 0. */
  radius?: Measure | undefined;
  /** Over the picture's edges, whose size stays, in place of around it. Default false. */
  inset?: boolean | undefined;
}

/** Where a mark goes, and how. */
export interface MarkOptions {
  /** Default `bottom-right`. */
  position?: Position | undefined;
  /** 0 (invisible) to 1 (solid); default 0.5. */
  opacity?: number | undefined;
  /** Pixels from the edges, per cent of the shorter side, or `auto`, the default: a twentieth, or half the font size. */
  margin?: Measure | 'auto' | undefined;
  /** Degrees clockwise by which the mark is turned; default 0. It is shrunk where it would not fit inside. */
  rotate?: number | undefined;
  /** Covers the picture with copies, so far apart: as the margin, or `auto`, the default: half the longer side. */
  tile?: { spacing?: Measure | 'auto' | undefined } | undefined;
}

/** A text as a mark. */
export interface WatermarkOptions extends MarkOptions {
  /** Every character must be drawable by a loaded font; with `wrap` a line break ends a line. */
  text: string;
  /** Pixels, at most; `auto`, the default, is a twentieth of the shorter side, at least 12. */
  fontSize?: number | 'auto' | undefined;
  /** `#rrggbb`, or `auto`, the default: black or white, whichever stands out more from the pixels below. */
  color?: string | undefined;
  /** Pixels around the letters, black or white, whichever stands out from their colour; shrunk with the text. */
  outline?: number | undefined;
  /** Breaks the text into lines that fit, at most so many; an ellipsis ends the last. Default: one line. */
  wrap?: { maxLines: number } | undefined;
  mark?: undefined;
}

/** Another picture as a mark: its first frame, with its transparency. */
export interface LogoOptions extends MarkOptions {
  mark: Image;
  /** Its width as a fraction of the picture's, 0.001 to 1; default 0.2. Shrunk where it would not fit inside. */
  scale?: number | undefined;
  text?: undefined;
}

/**
 * How a picture fills two given sides, as in sharp: `cover` cuts off what is too much, `inside` is as large as
 * fits in them, `fill` is stretched.
 */
export type Fit = 'cover' | 'inside' | 'fill';

/**
 * What of a picture `cover` keeps: a side or a corner, the point so far from the left and the top (`"30%,20%"`), or
 * `auto`: where edges, saturation, skin tones and rare colours are.
 */
export type Focus = Position | 'top' | 'right' | 'bottom' | 'left' | 'auto' | `${number}%,${number}%`;

/** At least one of width and height; the other follows the aspect ratio. */
export interface ResizeOptions {
  /** Pixels, 1 to 16383. */
  width?: number | undefined;
  height?: number | undefined;
  /** Default `cover`. */
  fit?: Fit | undefined;
  /** For `cover` alone; default `center`. */
  focus?: Focus | undefined;
}

/** A rectangle inside the picture, in pixels from its top left corner. */
export interface CropOptions extends Size {
  left: number;
  top: number;
}

export interface RotateOptions {
  /** `#rrggbb`, what the turn leaves empty. Default: transparent, in a jpg white. */
  background?: string | undefined;
}

/** Where an overlay's top left corner goes, in pixels; may be negative. */
export interface CompositeOptions {
  /** Default 0. */
  left?: number | undefined;
  top?: number | undefined;
}

export interface EncodeOptions {
  /** 1 to 100, for jpg, webp and avif, also where `same` gives one; default 80 or what looks like it. */
  quality?: number | undefined;
}

export interface EncodedImage {
  /** In an `ArrayBuffer` of its own, so that it can be moved to another thread. */
  body: Uint8Array;
  /** Media type of `body`, e.g. `image/png`. */
  type: string;
}

/**
 * A picture as plugins see it: upright, sRGB, 8 bit, without metadata. Operations are recorded and run when it is
 * encoded; each returns a new picture. A value of the wrong kind is a TypeError, the plugin's fault; a number out of
 * its range is `{code: 'invalid_input', details}` on the option, for it may be the caller's.
 */
export interface Image {
  /** Pixels, upright. */
  readonly width: number;
  /** Pixels of one frame, upright. */
  readonly height: number;
  /** 1 for a still picture. */
  readonly frames: number;
  /** What the file is, whatever was done to the picture since. */
  readonly format: SourceImageFormat;
  /** Media type of `bytes`, e.g. `image/jpeg`. */
  readonly type: string;
  /** Of the file, whatever was done to the picture since. */
  readonly file: SourceFile;
  /** The file as it came. A copy, made on first use: writing into it changes no picture. */
  readonly bytes: Uint8Array;
  /** A border of one colour, around the picture or over its edges. */
  border(options: BorderOptions): Image;
  /** Writes a text on every frame, or lays a picture on it. */
  watermark(options: WatermarkOptions | LogoOptions): Image;
  /** Another size. Larger than the source is allowed. */
  resize(options: ResizeOptions): Image;
  /** A part of the picture. */
  crop(options: CropOptions): Image;
  /** Turned clockwise. Multiples of 90 change no pixel; others leave corners, transparent or of a background. */
  rotate(degrees: number, options?: RotateOptions): Image;
  /** Another picture laid over this one, the first frame of it over every frame; what lies outside is cut off. */
  composite(overlay: Image, options?: CompositeOptions): Image;
  /** Runs the operations on the first frame. A picture of more than a megapixel is a RangeError: resize it first. */
  pixels(): Promise<Pixels>;
  /**
   * Runs the operations and encodes. Throws an `ImageError`, `bad_image` or `image_too_large`, or `invalid_input` on
   * `format` for what the running engine does not write.
   */
  encode(format: OutputFormat, options?: EncodeOptions): Promise<EncodedImage>;
}

export type EngineName = 'sharp' | 'jimp';
export type EngineChoice = 'auto' | EngineName;

/** EXIF orientation: 1 is upright; 2 to 8 name the flip and turn that bring the picture upright. */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

export interface FrameSize extends Size {
  /** 1 for a still picture. */
  frames: number;
}

/** What a file says of itself: pixels as stored, frames up to one past the most that the caller accepts. */
export interface ImageHeader extends FrameSize {
  format: SourceImageFormat;
  orientation: Orientation;
  /** Whether the colours are four inks, which need another way to sRGB than all others. */
  cmyk: boolean;
  /** Whether the file can say of pixels that they are transparent. */
  alpha: boolean;
  /** Pixels that a decoder makes, where the file says so apart from its size. */
  codedPixels?: number;
}

/** Decodes and encodes pictures; every engine passes the same contract suite. */
export interface ImageEngine {
  readonly name: EngineName;
  /** Opens a JPEG, PNG, WebP, GIF or AVIF. Throws an `ImageError` for anything else and for what passes `limits`. */
  open(
    bytes: Uint8Array,
    limits: ImageLimits,
    /** A name to begin messages with, where it is one of several; its header, where it was read already. */
    known?: { name?: string | undefined; header?: ImageHeader | undefined },
  ): Promise<Image>;
}

/** A fault of the picture, not of the gateway. `message` is public. */
export class ImageError extends Error {
  readonly code: 'bad_image' | 'image_too_large';
  private isNamed = false;

  constructor(code: 'bad_image' | 'image_too_large', message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ImageError';
    this.code = code;
  }

  /** The same of a picture that is one of several; of one that is named already, as it is. */
  of(name: string): ImageError {
    if (this.isNamed) return this;
    const named = new ImageError(this.code, `${name}: ${this.message}`, { cause: this.cause ?? this });
    named.isNamed = true;
    return named;
  }
}

/** An `ImageError` for what a decoder throws. */
export function undecodable(cause: unknown): ImageError {
  const message = 'The image cannot be decoded: its data is broken or cut off.';
  return new ImageError('bad_image', message, { cause });
}

/** The longest side that a format can store, in pixels; of an avif, the longest that its encoder takes. */
const longestSide: Record<ResultFormat, number> = {
  png: 2_147_483_647,
  jpg: 65_500,
  webp: 16_383,
  gif: 65_535,
  avif: 16_384,
};

type Checked = 'The image' | 'The result' | 'A picture on the way to the result';

/** Throws an `ImageError` `image_too_large` that names the numbers and the limit. */
export function checkSize(what: Checked, size: FrameSize, { maxPixels, maxFrames }: ImageLimits): void {
  const { width, height, frames } = size;
  if (frames > maxFrames) {
    const message = `${what} has more than ${maxFrames} frames, the most that this gateway accepts.`;
    throw new ImageError('image_too_large', message);
  }
  const pixels = width * height * frames;
  if (pixels <= maxPixels) return;
  const product = frames > 1 ? `${width} × ${height} × ${frames} frames` : `${width} × ${height}`;
  const verb = what === 'The image' ? 'is' : 'would be';
  const message = `${what} ${verb} ${product} = ${pixels} pixels; the limit is ${maxPixels}.`;
  throw new ImageError('image_too_large', message);
}

/** The same for what is to be encoded, which the format bounds as well. */
export function checkResult(size: FrameSize, format: ResultFormat, limits: ImageLimits): void {
  checkSize('The result', size, limits);
  const { width, height } = size;
  const longest = longestSide[format];
  if (Math.max(width, height) <= longest) return;
  const holder = format === 'avif' ? 'an avif' : `a ${format}`;
  const message = `The result would be ${width} × ${height} pixels; ${holder} holds at most ${longest} on a side.`;
  throw new ImageError('image_too_large', message);
}

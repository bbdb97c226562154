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
export type SourceImageFormat = 'png' | 'jpg' | 'webp' | 'gif';

/** What a picture may be encoded as: `same` is the format that it came in. */
export type OutputFormat = ImageFormat | 'same';

/** What that gives: a gif only where one came in. */
export type ResultFormat = ImageFormat | SourceImageFormat;

export type Corner = 'top-left' | 'top-right' | 'bottom-left' | 'bottom-right';

export type Position = Corner | 'center';

/** What an image may cost at most; both limits hold for the input and for the result. */
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
  /**
   * Distance from the edges: pixels, per cent of the picture's shorter side, or `auto`, the default: a twentieth of that, for text no more
   * than half its font size. A tenth of each side is left to the mark at least.
   */
  margin?: Measure | 'auto' | undefined;
  /** Degrees clockwise by which the mark is turned; default 0. It is shrunk where it would not fit inside. */
  rotate?: number | undefined;
  /**
   * Covers all of the picture with copies, some cut at the edges, in place of one mark at its position; `spacing` is between them: pixels,
   * per cent of the picture's shorter side, or `auto`, the default: half the mark's longer side.
   */
  tile?: { spacing?: Measure | 'auto' | undefined } | undefined;
}

/** A text as a mark. */
export interface WatermarkOptions extends MarkOptions {
  /** Every character must be drawable by a loaded font; with `wrap` a line break ends a line. */
  text: string;
  /**
   * Pixels, or `auto`, the default: a twentieth of the picture's shorter side and at least 12; shrunk where the text would not fit inside.
   */
  fontSize?: number | 'auto' | undefined;
  /** `#rrggbb`, or `auto`, the default: black or white, whichever stands out more from the pixels that the text lies on. */
  color?: string | undefined;
  /** Pixels around the letters, in black or white, whichever stands out from their colour; shrunk as the text is. Default 0. */
  outline?: number | undefined;
  /** Breaks the text into lines that fit, at most so many; an ellipsis ends the last. Without it the text is one line. */
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
 * How a picture fills a width and a height that are both given; the names, and the default, are sharp's. `cover`: fills them,
 * and what is too much on two sides is cut off evenly. `inside`: as large as fits in them, whole. `fill`: stretched.
 */
export type Fit = 'cover' | 'inside' | 'fill';

/** At least one of width and height; the other follows the aspect ratio. */
export interface ResizeOptions {
  /** Pixels, 1 to 16383. */
  width?: number | undefined;
  height?: number | undefined;
  /** Default `cover`. */
  fit?: Fit | undefined;
}

/** A rectangle inside the picture, in pixels from its top left corner. */
export interface CropOptions {
  left: number;
  top: number;
  /** At least 1. */
  width: number;
  height: number;
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
 * A picture as plugins see it: upright (EXIF orientation applied), sRGB, 8 bit, without metadata.
 * Operations are recorded and run when it is encoded; each returns the picture to go on with and leaves this one as it is.
 * An option that is no number of the kind that is asked for is a TypeError, the plugin's fault; a number out of its range
 * is `{code: 'invalid_input', details}` that names the option, so that a caller whose own number it was gets a 400.
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
  /**
   * Turned clockwise, by any angle. Multiples of 90 move pixels and change none; others give a larger picture, transparent
   * around the turned one, white in a jpg.
   */
  rotate(degrees: number): Image;
  /** Another picture laid over this one, the first frame of it over every frame; what lies outside is cut off. */
  composite(overlay: Image, options?: CompositeOptions): Image;
  /**
   * Runs the operations and encodes. `same` is the format of the file, in which an animation stays one. Throws an `ImageError`:
   * `bad_image` where the data turns out to be broken, `image_too_large` where the result, or a picture on the way to it,
   * would pass the limits; and `invalid_input` on `format` for what the engine that runs here does not write.
   */
  encode(format: OutputFormat, options?: EncodeOptions): Promise<EncodedImage>;
}

export type EngineName = 'sharp' | 'jimp';
export type EngineChoice = 'auto' | EngineName;

/** EXIF orientation: 1 is upright; 2 to 8 name the flip and turn that bring the picture upright. */
export type Orientation = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;

/** What a file says of itself, read before any decoder runs. */
export interface ImageHeader {
  format: SourceImageFormat;
  /** Pixels as stored, before `orientation` is applied. */
  width: number;
  /** Pixels of one frame as stored. */
  height: number;
  /** Frames of an animation, 1 for a still picture. Counting stops one past the most that the caller accepts. */
  frames: number;
  orientation: Orientation;
  /** Whether the colours are four inks, which need another way to sRGB than all others. */
  cmyk: boolean;
}

export interface KnownImage {
  /** Begins the message of a fault that shows when the picture is decoded, where it is one of several. */
  name?: string | undefined;
  /** Where `checkHeader` has read it already. */
  header?: ImageHeader | undefined;
}

/** Decodes and encodes pictures; every engine passes the same contract suite. */
export interface ImageEngine {
  readonly name: EngineName;
  /** Opens a JPEG, PNG, WebP or GIF. Throws an `ImageError` for anything else and for what passes `limits`. */
  open(bytes: Uint8Array, limits: ImageLimits, known?: KnownImage): Promise<Image>;
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

export interface FrameSize extends Size {
  frames: number;
}

/** The longest side that a format can store, in pixels; of an avif, the longest that its encoder takes. */
const longestSide: Record<ResultFormat, number> = {
  png: 2_147_483_647,
  jpg: 65_500,
  webp: 16_383,
  gif: 65_535,
  avif: 16_384,
};

/** Throws an `ImageError` `image_too_large` that names the numbers and the limit. */
export function checkSize(what: 'image' | 'result', size: FrameSize, limits: ImageLimits): void {
  if (size.frames > limits.maxFrames) {
    throw imageTooLarge(
      `The ${what} has more than ${limits.maxFrames} frames, the most that this gateway accepts.`,
    );
  }
  checkPixels(what === 'image' ? 'The image is' : 'The result would be', size, limits);
}

/** The same for a picture on the way to the result, which is decoded pixels and of no format. */
export function checkStep(size: FrameSize, limits: ImageLimits): void {
  checkPixels('A picture on the way to the result would be', size, limits);
}

function checkPixels(
  subject: string,
  { width, height, frames }: FrameSize,
  { maxPixels }: ImageLimits,
): void {
  const pixels = width * height * frames;
  if (pixels <= maxPixels) return;
  const product = frames > 1 ? `${width} × ${height} × ${frames} frames` : `${width} × ${height}`;
  throw imageTooLarge(`${subject} ${product} = ${pixels} pixels; the limit is ${maxPixels}.`);
}

/** The same for what is to be encoded, which the format bounds as well. */
export function checkResult(size: FrameSize, format: ResultFormat, limits: ImageLimits): void {
  checkSize('result', size, limits);
  const longest = longestSide[format];
  if (Math.max(size.width, size.height) <= longest) return;
  throw imageTooLarge(
    `The result would be ${size.width} × ${size.height} pixels; ${format === 'avif' ? 'an' : 'a'} ${format} holds at most ${longest} on a side.`,
  );
}

function imageTooLarge(message: string): ImageError {
  return new ImageError('image_too_large', message);
}

/** Output formats, by the name that answers use. */
export type ImageFormat = 'png' | 'jpg' | 'webp';

export type Corner = 'top-left' | 'top-right' | 'bottom-left' | 'bottom-right';

/** What an image may cost at most; both limits hold for the input and for the result. */
export interface ImageLimits {
  /** Width × height × frames. */
  maxPixels: number;
  maxFrames: number;
}

export interface BorderOptions {
  /** Pixels per side, 0 to 5000. */
  width: number;
  /** `#rrggbb`. */
  color: string;
}

export interface WatermarkOptions {
  /** One line of text; every character must be drawable by a loaded font. */
  text: string;
  position: Corner;
  /** 0 (invisible) to 1 (solid). */
  opacity: number;
  /** Pixels; shrunk where the line would not fit inside the image. */
  fontSize: number;
  /** `#rrggbb`. */
  color: string;
}

export interface EncodedImage {
  /** In an `ArrayBuffer` of its own, so that it can be moved to another thread. */
  body: Uint8Array;
  /** Media type of `body`, e.g. `image/png`. */
  type: string;
}

/**
 * A decoded picture as plugins see it: upright (EXIF orientation applied), sRGB, 8 bit, without metadata.
 * Operations are recorded and run when it is encoded; each returns the picture to go on with.
 */
export interface Image {
  /** Pixels, upright. */
  readonly width: number;
  /** Pixels of one frame, upright. */
  readonly height: number;
  /** 1 for a still picture. */
  readonly frames: number;
  border(options: BorderOptions): Image;
  watermark(options: WatermarkOptions): Image;
  /**
   * Runs the operations and encodes. Throws an `ImageError`: `bad_image` where the data turns out to be broken,
   * `image_too_large` where the result would pass the limits.
   */
  encode(format: ImageFormat): Promise<EncodedImage>;
}

/** Decodes and encodes pictures; every engine passes the same contract suite. */
export interface ImageEngine {
  readonly name: 'sharp' | 'jimp';
  /** Opens a JPEG, PNG, WebP or GIF. Throws an `ImageError` for anything else and for what passes `limits`. */
  open(bytes: Uint8Array, limits: ImageLimits): Promise<Image>;
}

/** A fault of the picture, not of the gateway. `message` is public. */
export class ImageError extends Error {
  readonly code: 'bad_image' | 'image_too_large';

  constructor(code: 'bad_image' | 'image_too_large', message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ImageError';
    this.code = code;
  }
}

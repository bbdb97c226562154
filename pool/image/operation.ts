import type { BorderOptions, Image, ImageFormat, ImageLimits, WatermarkOptions } from './engine.js';
import { checkResult } from './limits.js';

/** One step of a picture's recipe. */
export type Operation = ({ kind: 'border' } & BorderOptions) | ({ kind: 'watermark' } & WatermarkOptions);

/** Runs a recipe on the source it closes over and returns the encoded bytes. */
export type Render = (operations: readonly Operation[], format: ImageFormat) => Promise<Uint8Array>;

interface Size {
  width: number;
  height: number;
  frames: number;
}

const mediaTypes: Record<ImageFormat, string> = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' };

/** Encoded pictures: nobody but the handler that asked for one has it, so its memory may be moved to another thread. */
export const freshBytes = new WeakSet<Uint8Array>();

/**
 * An `Image` that writes its operations down and hands them to `render` when it is encoded. The result's size is
 * known without a pixel decoded, so its limits are checked first.
 */
export function recordImage(
  size: Size,
  limits: ImageLimits,
  render: Render,
  operations: readonly Operation[] = [],
): Image {
  function then(next: Size, operation: Operation): Image {
    return recordImage(next, limits, render, [...operations, operation]);
  }
  return {
    ...size,
    border(options) {
      const both = 2 * options.width;
      const grown = { ...size, width: size.width + both, height: size.height + both };
      return then(grown, { kind: 'border', ...options });
    },
    watermark(options) {
      return then(size, { kind: 'watermark', ...options });
    },
    async encode(format) {
      const frames = format === 'webp' ? size.frames : 1;
      checkResult({ ...size, frames }, format, limits);
      const body = await render(operations, format);
      freshBytes.add(body);
      return { body, type: mediaTypes[format] };
    },
  };
}

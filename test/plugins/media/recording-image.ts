import type { Image } from '../../../pool/image/engine.js';

/** An image that writes down what a handler does with it. */
export function recordingImage(calls: unknown[] = []): { image: Image; calls: unknown[] } {
  const image: Image = {
    width: 10,
    height: 10,
    frames: 1,
    format: 'png',
    type: 'image/png',
    bytes: new Uint8Array(0),
    resize: () => image,
    crop: () => image,
    rotate: () => image,
    composite: () => image,
    border(options) {
      calls.push({ border: options });
      return image;
    },
    watermark(options) {
      calls.push({ watermark: options });
      return image;
    },
    async encode(format) {
      calls.push({ encode: format });
      return { body: new Uint8Array([1]), type: 'image/test' };
    },
  };
  return { image, calls };
}

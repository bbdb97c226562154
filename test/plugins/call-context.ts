import type { CallContext } from '../../gateway/helper.js';
import type { Image } from '../../pool/image/engine.js';

/** What a handler is given that declares nothing besides its input; its log says nothing, and nothing can be fetched. */
export function callContext(service: string): CallContext<Record<never, never>, undefined> {
  const silent = () => {};
  return {
    service,
    request_id: 'test',
    signal: new AbortController().signal,
    log: { trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent },
    config: {},
    state: undefined,
    fetch: async (url) => {
      throw new Error(`${service} is not meant to fetch ${url}`);
    },
  };
}

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

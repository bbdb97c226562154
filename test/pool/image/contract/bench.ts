import type { Image, ImageEngine, OutputFormat } from '../../../../pool/image/engine.js';
import type { Raster } from '../../../../pool/image/raster.js';
import type { Decode } from '../decoders.js';
import { limits } from '../pictures.js';

/** What both engines write. */
export const formats = ['png', 'jpg', 'webp'] as const;
export const purple = [128, 0, 128];

/** An engine under test and the means to look at what it makes. */
export interface EngineBench {
  /** There from the first test on, not before. */
  readonly engine: ImageEngine;
  /** Another library than the engine's own. */
  decode: Decode;
  /** What the recipe makes of the picture, decoded. */
  run(bytes: Uint8Array, recipe: (image: Image) => Image, format?: OutputFormat): Promise<Raster>;
}

export function engineBench(getEngine: () => ImageEngine, decode: Decode): EngineBench {
  return {
    get engine() {
      return getEngine();
    },
    decode,
    async run(bytes, recipe, format = 'png') {
      const image = await getEngine().open(bytes, limits);
      return decode((await recipe(image).encode(format)).body);
    },
  };
}

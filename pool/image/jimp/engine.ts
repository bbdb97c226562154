import { applyOperations } from '../apply.js';
import type { EncodeOptions, ImageEngine, ResultFormat } from '../engine.js';
import { cannotEncode } from '../formats.js';
import { resampleRaster } from '../geometry/resample.js';
import { turnRaster } from '../geometry/turn.js';
import { productFormat } from '../header/header.js';
import { checkHeader, uprightSize } from '../header/probe.js';
import { recordImage } from '../operation.js';
import { encodePng } from '../png/encode.js';
import { dropOpaqueAlpha, flattenRaster, type Raster } from '../raster.js';
import type { Operation } from '../recipe.js';
import type { LoadText } from '../text/overlay.js';
import { createJimpDecoder, jimpCodec } from './decode.js';
import { createWebpCodec } from './webp-codec.js';

const jpegQuality = 80;

type Encoder = (raster: Raster, options: EncodeOptions) => Uint8Array | Promise<Uint8Array>;

/**
 * The engine for where sharp cannot be loaded: Jimp's codecs in JavaScript, and WebAssembly for WebP. It gives the
 * first frame of an animation, takes pixel values for sRGB whatever profile is embedded, and does not subsample
 * the colours of a JPEG; in all else it is as the other, only slower.
 */
export async function createJimpEngine({ text }: { text: LoadText }): Promise<ImageEngine> {
  const webp = await createWebpCodec();
  const decode = createJimpDecoder(webp);
  const jpeg = jimpCodec('image/jpeg');

  const encoders: { [F in ResultFormat]?: Encoder } = {
    png: (raster) => encodePng(dropOpaqueAlpha(raster)),
    jpg: (raster, options) => new Uint8Array(jpeg.encode(raster, { quality: jpegQuality, ...options })),
    webp: (raster, options) => webp.encode(raster, options),
  };

  return {
    name: 'jimp',
    async open(bytes, limits, name) {
      const header = checkHeader(bytes, limits);
      async function run(operations: readonly Operation[], opaque: boolean): Promise<Raster> {
        const raster = turnRaster(await decode(bytes, header, limits), header.orientation);
        if (opaque) flattenRaster(raster);
        return applyOperations(raster, operations, { text, resize: resampleRaster, opaque });
      }
      return recordImage({
        name,
        bytes,
        limits,
        engine: 'jimp',
        format: productFormat(header.format),
        frames: header.frames,
        size: { ...uprightSize(header), frames: 1 },
        async render(operations, format, options) {
          const encode = encoders[format];
          if (!encode) throw new TypeError(cannotEncode('jimp', format));
          return encode(await run(operations, format === 'jpg'), options);
        },
        pixels: (operations) => run(operations, false),
      });
    },
  };
}

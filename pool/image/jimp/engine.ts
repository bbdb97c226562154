import { applyOperations } from '../apply.js';
import type { ImageEngine, ImageFormat } from '../engine.js';
import { checkHeader, uprightSize } from '../header/probe.js';
import { recordImage } from '../operation.js';
import { encodePng } from '../png/encode.js';
import { dropOpaqueAlpha, flattenRaster, type Raster } from '../raster.js';
import type { TextRenderer } from '../text/overlay.js';
import { createJimpDecoder, jimpCodec } from './decode.js';
import { orientRaster } from './orient.js';
import { createWebpCodec } from './webp-codec.js';

const jpegQuality = 80;

/**
 * The engine for where sharp cannot be loaded: Jimp's codecs in JavaScript, and WebAssembly for WebP. It gives the
 * first frame of an animation, takes pixel values for sRGB whatever profile is embedded, and does not subsample
 * the colours of a JPEG; in all else it is as the other, only slower.
 */
export async function createJimpEngine({ text }: { text: TextRenderer }): Promise<ImageEngine> {
  const webp = await createWebpCodec();
  const decode = createJimpDecoder(webp);
  const jpeg = jimpCodec('image/jpeg');

  const encoders: Record<ImageFormat, (raster: Raster) => Uint8Array | Promise<Uint8Array>> = {
    png: (raster) => encodePng(dropOpaqueAlpha(raster)),
    jpg: (raster) => new Uint8Array(jpeg.encode(raster, { quality: jpegQuality })),
    webp: (raster) => webp.encode(raster),
  };

  return {
    name: 'jimp',
    async open(bytes, limits) {
      const header = checkHeader(bytes, limits);
      const size = { ...uprightSize(header), frames: 1 };
      return recordImage(size, limits, async (operations, format) => {
        const raster = orientRaster(await decode(bytes, header, limits), header.orientation);
        if (format === 'jpg') flattenRaster(raster);
        return encoders[format](applyOperations(raster, operations, text));
      });
    },
  };
}

import { expect } from 'chai';
import sharp from 'sharp';
import { decodeBySharp } from '../pool/image/engines.js';
import { expectQuadrants, quadrants, storeTurned, toSharp } from '../pool/image/pictures.js';
import { startTestGateway, type TestGateway } from './harness.js';

const orientations = [1, 2, 3, 4, 5, 6, 7, 8];
const sources = ['jpeg', 'png', 'webp'] as const;

/** A call of each picture helper that leaves the middle of each quadrant as it was. */
const harmless: Record<string, Record<string, string>> = {
  'media/add-border': { width: '2' },
  'media/add-watermark': { text: '.', font_size: '4', position: 'tl' },
  'media/convert': {},
  'media/resize': { width: '36' },
};

const stored = new Map<string, Promise<Buffer>>();

/** A picture of four quadrants as a camera stores it that was held in this orientation. */
function store(source: (typeof sources)[number], orientation: number, [width, height]: [number, number]) {
  const name = `${source} ${orientation} ${width}`;
  const picture =
    stored.get(name) ??
    toSharp(storeTurned(quadrants(width, height), orientation))
      .withMetadata({ orientation })
      .toFormat(source, { quality: 95 })
      .toBuffer();
  stored.set(name, picture);
  return picture;
}

/** What a viewer shows: the transformations that a file asks for are applied. */
async function shown(bytes: Uint8Array) {
  const heif = ['VipsForeignLoadHeifBuffer'];
  sharp.unblock({ operation: heif });
  try {
    return await decodeBySharp(await sharp(bytes).autoOrient().png({ compressionLevel: 0 }).toBuffer());
  } finally {
    // As the gateway has it, for the whole process.
    sharp.block({ operation: heif });
  }
}

/** Pictures of each EXIF orientation, as each format that the gateway's engine writes: of all combinations, one in `every`. */
export function uprightTests(engine: string, api: () => TestGateway, every: number): void {
  const formats = ['png', 'jpg', 'webp', 'same', ...(engine === 'sharp' ? ['avif'] : [])];
  for (const [formatAt, format] of formats.entries()) {
    for (const source of sources) {
      it(`turn a ${source} upright by its EXIF orientation, as ${format}`, async () => {
        // The answers differ by helper in how the picture gets to the encoder, and not by the kind of the source.
        const helpers = source === 'jpeg' ? Object.keys(harmless) : ['media/convert'];
        for (const [orientationAt, orientation] of orientations.entries()) {
          for (const [helperAt, helper] of helpers.entries()) {
            if ((orientationAt + helperAt + formatAt) % every > 0) continue;
            // Of a large picture libvips draws the border itself.
            const isLarge = engine === 'sharp' && source === 'jpeg' && helper === 'media/add-border';
            const bytes = await store(source, orientation, isLarge ? [400, 260] : [72, 48]);
            const body = new FormData();
            for (const [name, value] of Object.entries({ ...harmless[helper], format }))
              body.set(name, value);
            body.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'picture');
            const answer = await api().call(`/${helper}`, { body });
            const what = `${helper} ${orientation}`;
            expect(answer.json?.error, what).to.equal(undefined);
            const raster = await shown(answer.bytes);
            expect(raster.width, what).to.be.above(raster.height);
            expectQuadrants(raster, 30, what);
          }
        }
      });
    }
  }
}

for (const engine of ['sharp', 'jimp']) {
  describe(`image helpers over HTTP, by ${engine}, in every combination`, () => {
    let api: TestGateway;
    before(async () => {
      api = await startTestGateway({ HELPER_IMAGE_ENGINE: engine });
    });
    after(() => api.close());

    uprightTests(engine, () => api, 1);
  });
}

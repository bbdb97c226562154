import { readdir } from 'node:fs/promises';
import { expect } from 'chai';
import sharp from 'sharp';
import { rgbaToThumbHash, thumbHashToRGBA } from 'thumbhash';
import { findDominantColor } from '../../plugins/media/info/index.js';
import { lightBytes } from '../../schemas/input/validate-input.js';
import { fixture } from '../fixtures.js';
import { decodeBySharp, example, rings } from '../pool/image/engines.js';
import {
  animation,
  distance,
  expectQuadrants,
  plain,
  pngOf,
  quadrants,
  storeTurned,
  toSharp,
  undecodable,
} from '../pool/image/pictures.js';
import { type CallInit, shareGateway, startTestGateway, type TestGateway } from './harness.js';
import { olderAgent } from './mcp/agents.js';

const types = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' };

const orientations = [1, 2, 3, 4, 5, 6, 7, 8];
const sources = ['jpeg', 'png', 'webp', 'avif'] as const;

/** A call of each helper that answers a picture, which leaves the middle of each quadrant as it was. */
const harmless: Record<string, Record<string, string>> = {
  'media/add-border': { width: '2' },
  'media/add-watermark': { text: '.', font_size: '4', position: 'tl' },
  'media/convert': {},
  'media/crop': { left: '1', top: '1' },
  'media/resize': { width: '36' },
  'media/rotate': { angle: '360' },
};

const hexBytes = (color: string) => [...Buffer.from(color.slice(1), 'hex')];

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
  return decodeBySharp(await sharp(bytes).autoOrient().png({ compressionLevel: 0 }).toBuffer());
}

for (const engine of ['sharp', 'jimp']) {
  describe(`image helpers over HTTP, by ${engine}`, function () {
    // Jimp takes seconds for a picture.
    this.timeout(30_000);

    let api: TestGateway;
    let origin: string;
    let picture: Buffer;
    let logo: Buffer;

    before(async () => {
      picture = await sharp({ create: { width: 120, height: 80, channels: 3, background: '#3060c0' } })
        .jpeg()
        .toBuffer();
      const moving = await animation()
        .gif({ delay: [100, 250, 400], loop: 3 })
        .toBuffer();
      const still = await sharp(moving).png().toBuffer();
      const served = () => ({ picture, logo, moving, still }) as Record<string, Buffer>;
      const shared = await shareGateway(({ url = '' }, response) => {
        const bytes = served()[url.slice(1)];
        response.writeHead(bytes ? 200 : 404).end(bytes);
      });
      origin = shared.origin;
      api =
        engine === 'sharp'
          ? shared.api
          : await startTestGateway({
              HELPER_SOURCE_ORIGINS: origin,
              HELPER_IMAGE_ENGINE: engine,
              HELPER_PLUGINS: `${fixture('plugins/outputs')}:${fixture('plugins/playground')}`,
            });
    });

    after(async () => {
      if (engine !== 'sharp') await api.close();
    });

    function upload(fields: Record<string, string>, bytes: Uint8Array = picture, mark?: Uint8Array) {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'picture');
      if (mark) form.set('mark', new Blob([mark as Uint8Array<ArrayBuffer>]), 'logo.png');
      return form;
    }

    async function corner(bytes: Uint8Array): Promise<number[]> {
      const box = { left: 2, top: 2, width: 1, height: 1 };
      return [...(await sharp(bytes).removeAlpha().extract(box).raw().toBuffer())];
    }

    for (const [format, type] of Object.entries(types)) {
      it(`add a border to an upload, as ${format}`, async () => {
        const body = upload({ width: '20', color: 'red', format });
        const { status, headers, bytes } = await api.call('/media/add-border', { body });
        expect([status, headers.get('content-type')]).to.deep.equal([200, type]);
        expect(await sharp(bytes).metadata()).to.include({ width: 160, height: 120 });
        const [red = 0, ...others] = await corner(bytes);
        expect(red).to.be.above(240);
        expect(Math.max(...others)).to.be.below(20);
      });

      it(`add a watermark to a url’s picture, as ${format}`, async () => {
        const mark = { text: 'Grüße', opacity: '100%', font_size: '20', format };
        const query = new URLSearchParams({ url: `${origin}/picture`, ...mark });
        const { status, headers, bytes } = await api.call(`/img/add-watermark?${query}`);
        expect([status, headers.get('content-type')]).to.deep.equal([200, type]);
        expect(await sharp(bytes).metadata()).to.include({ width: 120, height: 80 });
        const { channels } = await sharp(bytes).removeAlpha().stats();
        expect(channels[0]?.max).to.be.above(200);
      });
    }

    const written = ['png', 'jpg', 'webp', 'same', ...(engine === 'sharp' ? ['avif'] : [])];
    for (const format of written) {
      it(`turn pictures upright by their EXIF orientation, as ${format}`, async () => {
        for (const source of sources) {
          if (engine === 'jimp' && format === 'same' && source === 'avif') continue;
          // The answers differ by helper in how the picture gets to the encoder, and not by the kind of the source.
          for (const helper of source === 'jpeg' ? Object.keys(harmless) : ['media/convert']) {
            for (const orientation of orientations) {
              // Of a large picture libvips draws the border itself.
              const isLarge = engine === 'sharp' && source === 'jpeg' && helper === 'media/add-border';
              const bytes = await store(source, orientation, isLarge ? [400, 260] : [72, 48]);
              const body = upload({ ...harmless[helper], format }, bytes);
              const answer = await api.call(`/${helper}`, { body });
              const what = `${helper} ${source} ${orientation}`;
              expect(answer.json?.error, what).to.equal(undefined);
              const raster = await shown(answer.bytes);
              expect(raster.width, what).to.be.above(raster.height);
              expectQuadrants(raster, 30, what);
            }
          }
        }
      });
    }

    it('turn upright with each helper that there is', async () => {
      const folder = new URL('../../../plugins/media/', import.meta.url);
      const helpers = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory());
      const answersPictures = helpers.map(({ name }) => `media/${name}`).filter((id) => id !== 'media/info');
      expect(Object.keys(harmless)).to.have.members(answersPictures);
    });

    it('lay a logo on a picture, both as uploads, by urls, or one of each', async () => {
      const red = await sharp({ create: { width: 30, height: 20, channels: 3, background: '#ff0000' } })
        .png()
        .toBuffer();
      logo = red;
      const options = { position: 'tl', margin: '0', opacity: '1', scale: '50%' };
      const url = `${origin}/picture`;
      const mark_url = `${origin}/logo`;
      const byUrls = { ...options, url, mark_url };
      for (const body of [upload(options, picture, red), upload({ ...options, mark_url }), byUrls]) {
        const { status, bytes } = await api.call('/media/add-watermark', { body });
        expect(status).to.equal(200);
        expect(await corner(bytes)).to.deep.equal([255, 0, 0]);
        const data = await sharp(bytes).removeAlpha().raw().toBuffer();
        expect([...data.subarray(59 * 3, 60 * 3)]).to.deep.equal([255, 0, 0]);
        expect(data[61 * 3] as number).to.be.below(80);
      }
    });

    const broken = new TextEncoder().encode('no picture');
    const markWith = (fields: Record<string, string>, mark?: Uint8Array) =>
      api.call('/media/add-watermark', { body: upload(fields, picture, mark) });

    it('say what is wrong with a picture, a url or the text, and which of two pictures it was', async () => {
      const border = (bytes: Uint8Array) => api.call('/media/add-border', { body: upload({}, bytes) });
      const get = (query: string) => api.call(`/media/add-border?${query}`);
      const private_mark = '/media/add-watermark?mark_url=https://10.0.0.1/x&dryrun=1';
      for (const [answer, code, problem] of [
        [await border(broken), '422 bad_image', /./],
        [await border(new Uint8Array()), '422 bad_image', /./],
        [await border(picture.subarray(0, 300)), '422 bad_image', /./],
        [await get(`url=${origin}/nowhere`), '502 source_failed', /./],
        [await get('url=https://10.0.0.1/x'), '400 source_refused', /./],
        [await get('dryrun=1&url=http://localhost/x'), '400 source_refused', /./],
        [await get('url=nonsense'), '400 invalid_input', /^url /],
        [await get('color=notacolour&dryrun=1'), '400 invalid_input', /^color /],
        [
          await get('color=dark+sea+gren&dryrun=1'),
          '400 invalid_input',
          /; did you mean "dark sea green"\?$/,
        ],
        [await markWith({ text: '日本' }), '400 invalid_input', /日/],
        [await markWith({}), '400 invalid_input', /./],
        [await markWith({}, broken), '422 bad_image', /^mark: /],
        [await markWith({ mark_url: `${origin}/nowhere` }), '502 source_failed', /^mark_url: /],
        [await api.call(private_mark), '400 source_refused', /./],
        [
          await markWith({ text: 'a' }, picture),
          '400 invalid_input',
          /^mark .* text; send only one of text and mark$/,
        ],
        [await markWith({ mark: 'logo' }), '400 invalid_input', /^mark /],
      ] as const) {
        expect(`${answer.status} ${answer.json.error.code}`).to.equal(code);
        expect(answer.json.error.message).to.match(problem);
      }
    });

    it('preview a dry run without a picture, or with its url', async () => {
      const preview = { source_url: null, border_width: 20, color: '#000000', format: 'png' };
      expect((await api.call('/media/add-border?dryrun=true')).json.data).to.deep.equal(preview);
      const source_url = 'https://example.com/a.png';
      const { json } = await api.call(`/media/add-border?dryrun=1&color=red&url=${source_url}`);
      expect(json.data).to.deep.equal({ ...preview, source_url, color: '#ff0000' });
    });

    describe('media/info', () => {
      const info = async (bytes: Uint8Array, fields: Record<string, string> = {}) =>
        (await api.call('/media/info', { body: upload(fields, bytes) })).json;

      it('says what a picture is, by a url and of an upload, however it is stored', async () => {
        const facts = { width: 120, height: 80, format: 'jpg', frames: 1, has_alpha: false, orientation: 1 };
        const { json } = await api.call(`/media/info?url=${origin}/picture`);
        expect(json.data).to.include({ ...facts, bytes: picture.length });
        expect(distance(hexBytes(json.data.dominant_color), [0x30, 0x60, 0xc0])).to.be.at.most(2);
        for (const source of sources) {
          for (const orientation of orientations) {
            const bytes = await store(source, orientation, [72, 48]);
            const { data } = await info(bytes);
            expect(data).to.include({ width: 72, height: 48, orientation, bytes: bytes.length });
            const { w, h, rgba } = thumbHashToRGBA(Buffer.from(data.thumbhash, 'base64'));
            expectQuadrants(
              { data: rgba, width: w, height: h, channels: 4, frames: 1 },
              90,
              `${orientation}`,
            );
          }
        }
        const { data } = await info(await animation().gif().toBuffer());
        expect(data).to.include({ width: 40, height: 24, format: 'gif', frames: 3, has_alpha: true });
      });

      it('has a ThumbHash and a colour that are near those of the pixels, with either engine', async () => {
        const detailed = await sharp(await rings())
          .webp({ quality: 50 })
          .toBuffer();
        for (const bytes of [await example(), detailed, picture]) {
          const { data } = await info(bytes);
          const small = sharp(bytes).resize(100, 100, { fit: 'inside' }).ensureAlpha();
          const { data: rgba, info: size } = await small.raw().toBuffer({ resolveWithObject: true });
          const known = rgbaToThumbHash(size.width, size.height, rgba);
          const own = Buffer.from(data.thumbhash, 'base64');
          const [shown, wanted] = [thumbHashToRGBA(own).rgba, thumbHashToRGBA(known).rgba];
          expect(distance([...shown], [...wanted])).to.be.at.most(12);
          const color = findDominantColor({ data: rgba, width: size.width, height: size.height }) ?? '';
          expect(distance(hexBytes(data.dominant_color), hexBytes(color))).to.be.at.most(6);
        }
      });

      it('leaves out what is not asked for, and then reads the header alone', async () => {
        const broken = await undecodable();
        const off = { dominant_color: 'false', thumbhash: 'false' };
        const facts = { width: 48, height: 32, format: 'png', frames: 1, has_alpha: false, orientation: 1 };
        expect((await info(broken, off)).data).to.deep.equal({ ...facts, bytes: broken.length });
        expect((await info(broken)).error.code).to.equal('bad_image');
        expect((await info(picture, { thumbhash: 'false' })).data).to.not.have.property('thumbhash');
        expect((await info(picture, { dominant_color: '0' })).data).to.not.have.property('dominant_color');
        const clear = await pngOf(plain(9, 9, [9, 9, 9, 0]));
        expect((await info(clear)).data)
          .to.include({ has_alpha: true })
          .and.not.have.property('dominant_color');
      });

      it('says in a dry run what it would do', async () => {
        const data = { operation: 'info', source_url: null, dominant_color: true, thumbhash: false };
        expect((await api.call('/media/info?dryrun=1&thumbhash=0')).json.data).to.deep.equal(data);
      });
    });

    it('refuse a result past the limit', async () => {
      const { status, json } = await api.call('/media/add-border', { body: upload({ width: '5000' }) });
      expect([status, json.error.code]).to.deep.equal([422, 'image_too_large']);
    });

    describe('formats', () => {
      const call = (query: Record<string, string>) =>
        api.call(`/media/encode?${new URLSearchParams({ url: `${origin}/still`, ...query })}`);

      it('keep what came, and have no quality where that has none', async () => {
        const { status, headers } = await call({});
        expect([status, headers.get('content-type')]).to.deep.equal([200, 'image/png']);
        expect((await call({ quality: '80' })).json.error.details).to.deep.equal([
          { field: 'quality', problem: 'is for jpg, webp and avif; the picture is a png, and has none' },
        ]);
      });

      if (engine === 'jimp') {
        it('are refused where the engine does not write them', async () => {
          for (const [format, url] of [
            ['avif', `${origin}/still`],
            ['same', `${origin}/moving`],
          ] as const) {
            const { status, json } = await call({ format, url });
            expect([status, json.error.details[0].field]).to.deep.equal([400, 'format']);
            expect(json.error.details[0].problem).to.match(
              /the image engine jimp writes no (avif|gif); sharp does/,
            );
          }
        });

        it('are refused on their field, in a dry run too and by workers, naming format and engine', async () => {
          // What is between the values is text all the same; workers validate what is long.
          const body = `${' '.repeat(lightBytes)}{"format":"avif"}`;
          const headers = { 'content-type': 'application/json' };
          const measures = (query: string, init?: CallInit) => api.call(`/all/measures${query}`, init);
          for (const { status, json } of [
            await measures('?format=AVIF'),
            await measures('?format=avif&dryrun=1'),
            await measures('?format=avif&quality=40'),
            await measures('', { method: 'POST', headers, body }),
          ]) {
            expect([status, json.error.details.length]).to.deep.equal([400, 1]);
            const [{ field, problem }] = json.error.details;
            expect(field).to.equal('format');
            expect(problem).to.include('jimp').and.include('avif').and.include('png, jpg');
          }
          const { json } = await measures('?format=webp&quality=40');
          expect(json.data).to.include({ format: 'webp' });
        });
        return;
      }

      it('are avif where that is asked for', async () => {
        const { status, headers, bytes } = await call({ format: 'avif', quality: '70' });
        expect([status, headers.get('content-type')]).to.deep.equal([200, 'image/avif']);
        expect(Buffer.from(bytes).toString('latin1', 4, 12)).to.equal('ftypavif');
      });

      it('keep an animation', async () => {
        const { headers, bytes } = await call({ url: `${origin}/moving` });
        expect(headers.get('content-type')).to.equal('image/gif');
        const { pages, delay, loop } = await sharp(bytes).metadata();
        expect({ pages, delay, loop }).to.deep.equal({ pages: 3, delay: [100, 250, 400], loop: 3 });
      });

      it('are shown to agents by a preview where models do not look at them', async () => {
        const agent = await olderAgent(api.url, api.key);
        const shown = async (input: Record<string, string>) =>
          (await agent.callTool({ name: 'media_encode', arguments: input })).content;
        const [preview, words] = await shown({ url: `${origin}/still`, format: 'avif' });
        expect(preview).to.include({ type: 'image', mimeType: 'image/jpeg' });
        expect((await sharp(Buffer.from(preview.data, 'base64')).metadata()).width).to.equal(40);
        expect(words.text).to.match(/\(image\/avif\)\. This is a preview of it\./);
        const whole = await shown({ url: `${origin}/moving` });
        expect(whole).to.have.length(1);
        expect(whole[0]).to.include({ type: 'image', mimeType: 'image/gif' });
        await agent.close();
      });
    });
  });
}

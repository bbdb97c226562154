import { expect } from 'chai';
import sharp from 'sharp';
import type { Raster } from '../../pool/image/raster.js';
import { decodeBySharp } from '../pool/image/engines.js';
import {
  animation,
  colorAt,
  distance,
  paint,
  pixelAt,
  plain,
  pngOf,
  quadrantColors,
  quadrants,
  sizeOf,
} from '../pool/image/pictures.js';
import { shareGateway, startTestGateway, type TestGateway } from './harness.js';

/** Of each pixel its place. */
const places = paint(61, 40, (x, y) => [x * 4, y * 6, 7]);

for (const engine of ['sharp', 'jimp']) {
  describe(`crop, rotate and focus over HTTP, by ${engine}`, function () {
    // Jimp takes seconds for a picture.
    this.timeout(30_000);

    let api: TestGateway;
    let origin: string;
    const served: Record<string, Uint8Array> = {};

    before(async () => {
      served.places = await pngOf(places);
      served.quadrants = await pngOf(quadrants(120, 80));
      served.moving = await animation().gif({ delay: 100 }).toBuffer();
      const shared = await shareGateway(({ url = '' }, response) => {
        const bytes = served[url.slice(1)];
        response.writeHead(bytes ? 200 : 404).end(bytes);
      });
      origin = shared.origin;
      const env = { HELPER_SOURCE_ORIGINS: origin, HELPER_IMAGE_ENGINE: engine };
      api = engine === 'sharp' ? shared.api : await startTestGateway(env);
    });

    after(async () => {
      if (engine !== 'sharp') await api.close();
    });

    const get = (helper: string, picture: string, query: string) =>
      api.call(`/media/${helper}?url=${origin}/${picture}&${query}`);

    function form(picture: string, query: string): FormData {
      const body = new FormData();
      for (const [name, value] of new URLSearchParams(query)) body.set(name, value);
      body.set('file', new Blob([served[picture] as Uint8Array<ArrayBuffer>]), 'picture');
      return body;
    }

    /** The same by GET and by an upload; what is shown. */
    async function shown(helper: string, picture: string, query: string): Promise<Raster> {
      const body = form(picture, query);
      const answers = [
        await get(helper, picture, query),
        await api.call(`/media/${helper}`, { body }),
      ] as const;
      for (const { status, json } of answers) expect(status, JSON.stringify(json)).to.equal(200);
      expect(Buffer.from(answers[0].bytes).equals(Buffer.from(answers[1].bytes))).to.equal(true);
      return decodeBySharp(answers[0].bytes);
    }

    /** What is wrong, with its field before it, by GET and by an upload. */
    async function refusal(helper: string, picture: string, query: string): Promise<string> {
      const both = [
        await get(helper, picture, query),
        await api.call(`/media/${helper}`, { body: form(picture, query) }),
      ];
      const [one, other] = both.map(({ status, json: { error } }) => {
        expect([status, error.code]).to.deep.equal([400, 'invalid_input']);
        expect(error.details).to.have.length(1);
        return `${error.details[0].field} ${error.details[0].problem}`;
      });
      expect(one).to.equal(other);
      return String(one);
    }

    describe('crop', () => {
      for (const [query, first, size] of [
        ['left=3&top=5&width=7&height=11', [3, 5], [7, 11]],
        ['left=60&top=39', [60, 39], [1, 1]],
        ['width=10', [0, 0], [10, 40]],
        ['left=50%25&width=50%25&top=25%25&height=25%25', [31, 10], [30, 10]],
        ['left=50%25', [31, 0], [30, 40]],
        ['top=10%25&height=30', [0, 4], [61, 30]],
      ] as const) {
        it(`gives just the pixels of ${query}`, async () => {
          const part = await shown('crop', 'places', query);
          expect(sizeOf(part)).to.deep.equal(size);
          const [left, top] = first;
          expect(pixelAt(part, 0, 0)).to.deep.equal(pixelAt(places, left, top));
          const last = [left + size[0] - 1, top + size[1] - 1] as const;
          expect(pixelAt(part, size[0] - 1, size[1] - 1)).to.deep.equal(pixelAt(places, ...last));
        });
      }

      it('refuses an area that leaves the picture, with the field and the picture’s size', async () => {
        for (const [query, problem] of [
          ['left=61', /^left .* 0 to 60 \(the picture is 61 × 40\), but is 61$/],
          ['left=10&width=52', /^width .* 1 to 51 \(the picture is 61 × 40 and left is 10\), but is 52$/],
          ['top=50%25&height=60%25', /^height .* 1 to 20 \(the picture is 61 × 40/],
          ['height=41&width=61', /^height .* 1 to 40 \(the picture is 61 × 40/],
          ['width=0.1%25', /^width .* 1 to 61 \(.*, but is 0$/],
        ] as const) {
          expect(await refusal('crop', 'places', query)).to.match(problem);
        }
        for (const query of ['width=0', 'left=-1', 'top=101%25', 'height=1.5']) {
          expect(await refusal('crop', 'places', query)).to.match(
            /must be a whole number of pixels from [01] to/,
          );
        }
        expect(await refusal('crop', 'places', 'format=jpg')).to.match(
          /^width is required, or in its place height/,
        );
      });

      it('says in a dry run what it has understood', async () => {
        const { json } = await api.call('/media/crop?dryrun=1&left=5.0%25&height=7&format=jpg&quality=60');
        expect(json.data).to.deep.equal({
          ...{ operation: 'crop', source_url: null, left: '5%', top: 0, width: null, height: 7 },
          ...{ format: 'jpg', quality: 60 },
        });
      });
    });

    describe('rotate', () => {
      it('moves pixels by multiples of 90', async () => {
        for (const [angle, size, x, y] of [
          [90, [40, 61], 0, 39],
          [-90, [40, 61], 60, 0],
          [180, [61, 40], 60, 39],
          [-360, [61, 40], 0, 0],
        ] as const) {
          const turned = await shown('rotate', 'places', `angle=${angle}&background=red`);
          expect(sizeOf(turned), `${angle}`).to.deep.equal(size);
          expect(pixelAt(turned, 0, 0), `${angle}`).to.deep.equal(pixelAt(places, x, y));
        }
      });

      it('leaves corners transparent, white in a JPEG, or of their background', async () => {
        for (const [query, corner] of [
          ['', [0, 0, 0, 0]],
          ['&format=jpg', [255, 255, 255, 255]],
          ['&background=dark+sea+green', [0x8f, 0xbc, 0x8f, 255]],
          ['&background=dark+sea+green&format=jpg', [0x8f, 0xbc, 0x8f, 255]],
        ] as const) {
          const turned = await shown('rotate', 'quadrants', `angle=30${query}`);
          expect(sizeOf(turned)).to.deep.equal([144, 130]);
          expect(distance(colorAt(turned, 0.03, 0.97), corner), query).to.be.at.most(6);
          // A little left of its middle, a little right of it.
          expect(distance(colorAt(turned, 0.4, 0.4), quadrantColors.topLeft), query).to.be.at.most(12);
          expect(distance(colorAt(turned, 0.6, 0.6), quadrantColors.bottomRight), query).to.be.at.most(12);
        }
      });

      it('turns every frame', async () => {
        if (engine === 'jimp') return;
        const { bytes } = await get('rotate', 'moving', 'angle=45&format=same&background=white');
        const { pages, width } = await sharp(bytes).metadata();
        const [frame] = sizeOf(await decodeBySharp(await sharp(served.moving).png().toBuffer()));
        const down = (await sharp(served.moving, { animated: true }).metadata()).pageHeight ?? 0;
        expect({ pages, width }).to.deep.equal({
          pages: 3,
          width: Math.ceil(((frame ?? 0) + down) * Math.SQRT1_2),
        });
      });

      it('refuses what is no angle or no colour, and what would be too large', async () => {
        expect(await refusal('rotate', 'places', 'angle=361')).to.match(
          /^angle must be a number from -360 to 360/,
        );
        expect(await refusal('rotate', 'places', 'background=red')).to.match(/^angle is required/);
        expect(await refusal('rotate', 'places', 'angle=1&background=none')).to.match(/^background must be/);
        // Of few pixels itself, in a square of 72 megapixels.
        served.long = await pngOf(plain(12_000, 10, [9, 9, 9]));
        const { status, json } = await get('rotate', 'long', 'angle=45');
        expect([status, json.error.code]).to.deep.equal([422, 'image_too_large']);
      });

      it('says in a dry run what it has understood', async () => {
        const { json } = await api.call('/media/rotate?dryrun=1&angle=-7.5&background=gray');
        expect(json.data).to.deep.equal({
          ...{ operation: 'rotate', source_url: null, angle: -7.5, background: '#808080', format: 'png' },
        });
        const none = await api.call('/media/rotate?dryrun=1');
        expect(none.json.data).to.include({ angle: null, background: null });
      });
    });

    describe('resize with a focus', () => {
      const cover = 'width=40&height=40&fit=cover';

      it('keeps what it names', async () => {
        const { topLeft, topRight, bottomLeft, bottomRight } = quadrantColors;
        for (const [focus, tall, first, last] of [
          ['left', false, topLeft, bottomLeft],
          ['TR', false, topRight, bottomRight],
          ['100%25,0%25', false, topRight, bottomRight],
          ['top', true, topLeft, topRight],
          ['0,+100', true, bottomLeft, bottomRight],
        ] as const) {
          const part = await shown(
            'resize',
            'quadrants',
            `focus=${focus}&fit=cover&${tall ? 'width=120&height=30' : 'width=40&height=80'}`,
          );
          const [x, y] = tall ? [0.9, 0.5] : [0.5, 0.9];
          expect(distance(colorAt(part, 0.1, 0.1), first), focus).to.be.at.most(12);
          expect(distance(colorAt(part, x, y), last), focus).to.be.at.most(12);
        }
      });

      it('finds it', async () => {
        served.spot = await pngOf(
          paint(200, 60, (x, y) => (Math.hypot(x - 160, y - 30) < 20 ? [220, 40, 30] : [90, 110, 130])),
        );
        const part = await shown('resize', 'spot', `${cover}&focus=Auto`);
        expect(distance(colorAt(part, 0.5, 0.5), [220, 40, 30])).to.be.at.most(3);
        expect(distance(colorAt(part, 0.05, 0.5), [90, 110, 130])).to.be.at.most(3);
      });

      it('refuses what is none, and any that is not for cover', async () => {
        for (const focus of ['middle', '30%25', '101,5', '30%25,20%25,1', '-1,5']) {
          const problem = await refusal('resize', 'quadrants', `${cover}&focus=${focus}`);
          expect(problem, focus).to.match(/^focus must be one of center \(or c\), .*auto.*"30%,20%"/);
        }
        for (const fit of ['inside', 'contain', 'fill']) {
          const problem = await refusal('resize', 'quadrants', `width=9&height=9&fit=${fit}&focus=auto`);
          expect(problem).to.equal(`focus is for the fit cover; with ${fit} it means nothing`);
        }
      });

      it('says in a dry run what it has understood, of cover alone', async () => {
        const understood = async (query: string) =>
          (await api.call(`/media/resize?dryrun=1&${query}`)).json.data;
        for (const [focus, normal] of Object.entries({
          AUTO: 'auto',
          tl: 'top-left',
          '30.50,+7%25': '30.5%,7%',
        })) {
          expect((await understood(`${cover}&focus=${focus}`)).focus).to.equal(normal);
        }
        expect((await understood(cover)).focus).to.equal('center');
        expect(await understood('width=40')).not.to.have.property('focus');
      });
    });
  });
}

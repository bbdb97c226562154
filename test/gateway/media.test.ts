import { expect } from 'chai';
import sharp from 'sharp';
import { lightBytes } from '../../schemas/input/validate-input.js';
import { fixture } from '../fixtures.js';
import { animation } from '../pool/image/pictures.js';
import { shareGateway, startTestGateway, type TestGateway } from './harness.js';
import { olderAgent } from './mcp/agents.js';
import { uprightTests } from './media.long.test.js';

const formats = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' };

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
      const shared = await shareGateway((request, response) => {
        if (request.url === '/picture') response.end(picture);
        else if (request.url === '/logo') response.end(logo);
        else if (request.url === '/moving') response.end(moving);
        else if (request.url === '/still') response.end(still);
        else response.writeHead(404).end();
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

    function upload(
      fields: Record<string, string>,
      bytes: Uint8Array = picture,
      mark?: Uint8Array,
    ): FormData {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      form.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'picture');
      if (mark) form.set('mark', new Blob([mark as Uint8Array<ArrayBuffer>]), 'logo.png');
      return form;
    }

    async function corner(bytes: Uint8Array): Promise<number[]> {
      const { data } = await sharp(bytes)
        .removeAlpha()
        .extract({ left: 2, top: 2, width: 1, height: 1 })
        .raw()
        .toBuffer({ resolveWithObject: true });
      return [...data];
    }

    for (const [format, type] of Object.entries(formats)) {
      it(`add a border to an upload, as ${format}`, async () => {
        const { status, headers, bytes } = await api.call('/media/add-border', {
          body: upload({ width: '20', color: 'red', format }),
        });
        expect(status).to.equal(200);
        expect(headers.get('content-type')).to.equal(type);
        const { width, height } = await sharp(bytes).metadata();
        expect([width, height]).to.deep.equal([160, 120]);
        const [red, green, blue] = await corner(bytes);
        expect(red).to.be.above(240);
        expect(green).to.be.below(20);
        expect(blue).to.be.below(20);
      });

      it(`add a watermark to a url’s picture, as ${format}`, async () => {
        const query = new URLSearchParams({
          url: `${origin}/picture`,
          text: 'Grüße',
          opacity: '100%',
          font_size: '20',
          format,
        });
        const { status, headers, bytes } = await api.call(`/img/add-watermark?${query}`);
        expect(status).to.equal(200);
        expect(headers.get('content-type')).to.equal(type);
        const { width, height } = await sharp(bytes).metadata();
        expect([width, height]).to.deep.equal([120, 80]);
        const { channels } = await sharp(bytes).removeAlpha().stats();
        expect(channels[0]?.max).to.be.above(200);
      });
    }

    // One orientation of each combination; the long test has all eight.
    uprightTests(engine, () => api, 8);

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
        const { data } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
        expect([...data.subarray(59 * 3, 60 * 3)]).to.deep.equal([255, 0, 0]);
        expect(data[61 * 3] as number).to.be.below(80);
      }
    });

    it('say what is wrong with a logo, and which of two pictures it was', async () => {
      const broken = new TextEncoder().encode('no picture');
      const wrong = await Promise.all([
        api.call('/media/add-watermark', { body: upload({}, picture, broken) }),
        api.call('/media/add-watermark', { body: upload({ mark_url: `${origin}/nowhere` }) }),
        api.call('/media/add-watermark?mark_url=https://10.0.0.1/x&dryrun=1'),
        api.call('/media/add-watermark', { body: upload({ text: 'a' }, picture, picture) }),
        api.call('/media/add-watermark', { body: upload({ mark: 'logo' }) }),
      ]);
      expect(wrong.map(({ status, json }) => `${status} ${json?.error?.code}`)).to.deep.equal([
        '422 bad_image',
        '502 source_failed',
        '400 source_refused',
        '400 invalid_input',
        '400 invalid_input',
      ]);
      expect(wrong[0]?.json.error.message).to.match(/^mark: /);
      expect(wrong[1]?.json.error.message).to.match(/^mark_url: /);
      expect(wrong[3]?.json.error.details).to.deep.equal([
        { field: 'mark', problem: 'is sent together with text; send only one of text and mark' },
      ]);
      expect(wrong[4]?.json.error.details.map(({ field }: { field: string }) => field)).to.deep.equal([
        'mark',
      ]);
    });

    it('take the url in a JSON body', async () => {
      const { status } = await api.call('/media/add-border', {
        body: { url: `${origin}/picture`, width: 0 },
      });
      expect(status).to.equal(200);
    });

    it('say what is wrong with a picture, a url or the text', async () => {
      const wrong = await Promise.all([
        api.call('/media/add-border', { body: upload({}, new TextEncoder().encode('no picture')) }),
        api.call('/media/add-border', { body: upload({}, new Uint8Array()) }),
        api.call('/media/add-border', { body: upload({}, picture.subarray(0, 300)) }),
        api.call(`/media/add-border?url=${origin}/nowhere`),
        api.call('/media/add-border?url=https://10.0.0.1/x'),
        api.call('/media/add-border?url=nonsense'),
        api.call('/media/add-border?color=notacolour&dryrun=1'),
        api.call('/media/add-watermark', { body: upload({ text: '日本' }) }),
        api.call('/media/add-watermark', { body: upload({}) }),
        api.call('/media/add-border?dryrun=1&url=http://localhost/x'),
      ]);
      expect(wrong.map(({ status, json }) => `${status} ${json?.error?.code}`)).to.deep.equal([
        '422 bad_image',
        '422 bad_image',
        '422 bad_image',
        '502 source_failed',
        '400 source_refused',
        '400 invalid_input',
        '400 invalid_input',
        '400 invalid_input',
        '400 invalid_input',
        '400 source_refused',
      ]);
      expect(wrong[7]?.json.error.details[0].problem).to.include('日');
    });

    it('refuse a result past the limit', async () => {
      const { status, json } = await api.call('/media/add-border', { body: upload({ width: '5000' }) });
      expect([status, json.error.code]).to.deep.equal([422, 'image_too_large']);
    });

    it('say which colour a slip is near to', async () => {
      const { json } = await api.call('/media/add-border?dryrun=1&color=dark+sea+gren');
      expect(json.error.details[0].problem).to.match(/; did you mean "dark sea green"\?$/);
    });

    it('preview a dry run without a picture', async () => {
      const { json } = await api.call('/media/add-border?dryrun=true');
      expect(json.data).to.deep.equal({
        source_url: null,
        border_width: 20,
        color: '#000000',
        format: 'png',
      });
      expect((await api.call('/media/add-watermark?dryrun=1&position=tl&opacity=50')).json.data).to.include({
        operation: 'add-watermark',
        position: 'top-left',
        opacity: 0.5,
      });
    });

    describe('formats', () => {
      const call = (query: Record<string, string>) =>
        api.call(`/media/encode?${new URLSearchParams({ url: `${origin}/still`, ...query })}`);

      async function problems(query: Record<string, string>) {
        const { status, json } = await call(query);
        expect(status).to.equal(400);
        return json.error.details.map(({ field, problem }: { field: string; problem: string }) => [
          field,
          problem,
        ]);
      }

      it('keep what came', async () => {
        const { status, headers } = await call({});
        expect([status, headers.get('content-type')]).to.deep.equal([200, 'image/png']);
      });

      it('have no quality where what came has none', async () => {
        expect(await problems({ quality: '80' })).to.deep.equal([
          ['quality', 'is for jpg, webp and avif; the picture is a png, and has none'],
        ]);
      });

      if (engine === 'jimp') {
        it('are refused where the engine does not write them', async () => {
          for (const [format, url] of [
            ['avif', `${origin}/still`],
            ['same', `${origin}/moving`],
          ] as const) {
            const [[field, problem]] = await problems({ format, url });
            expect(field).to.equal('format');
            expect(problem).to.match(/the image engine jimp writes no (avif|gif); sharp does/);
          }
        });

        const isRefused = (details: { field: string; problem: string }[] | undefined) => {
          expect(details?.map(({ field }) => field)).to.deep.equal(['format']);
          expect(details?.[0]?.problem).to.include('jimp').and.include('avif').and.include('png, jpg');
        };

        it('are refused on their field, in a dry run too, naming format and engine', async () => {
          for (const query of ['format=AVIF', 'format=avif&dryrun=1', 'format=avif&quality=40']) {
            const { status, json } = await api.call(`/all/measures?${query}`);
            expect(status, query).to.equal(400);
            isRefused(json.error.details);
          }
          expect((await api.call(`/all/measures?format=webp&quality=40`)).json.data).to.include({
            format: 'webp',
          });
        });

        it('are refused by the workers, which judge what is long', async () => {
          // What is between the values is text all the same.
          const body = `${' '.repeat(lightBytes)}{"format":"avif"}`;
          const headers = { 'content-type': 'application/json' };
          const { status, json } = await api.call('/all/measures', { method: 'POST', headers, body });
          expect(status).to.equal(400);
          isRefused(json.error.details);
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

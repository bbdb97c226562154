import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import sharp from 'sharp';
import { fixture } from '../fixtures.js';
import { animation } from '../pool/image/pictures.js';
import { startTestGateway, type TestGateway } from './harness.js';
import { olderAgent } from './mcp/agents.js';

for (const engine of ['sharp', 'jimp'] as const) {
  describe(`formats of pictures over HTTP, by ${engine}`, function () {
    // Jimp takes seconds for a picture.
    this.timeout(30_000);

    let api: TestGateway;
    let images: Server;
    let origin: string;

    before(async () => {
      const moving = await animation()
        .gif({ delay: [100, 250, 400], loop: 3 })
        .toBuffer();
      const still = await sharp(moving).png().toBuffer();
      images = createServer(({ url }, response) => void response.end(url === '/moving' ? moving : still));
      await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
      origin = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
      api = await startTestGateway({
        HELPER_SOURCE_ORIGINS: origin,
        HELPER_IMAGE_ENGINE: engine,
        HELPER_PLUGINS: fixture('plugins/outputs'),
      });
    });

    after(async () => {
      await api.close();
      images.close();
    });

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
}

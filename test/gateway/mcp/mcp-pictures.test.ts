import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import sharp from 'sharp';
import { startTestGateway, type TestGateway } from '../harness.js';
import { type Agent, olderAgent } from './agents.js';

/** A picture that no encoder makes small. */
function noise(side: number): Promise<Buffer> {
  const { gaussian } = { gaussian: { type: 'gaussian', mean: 128, sigma: 60 } } as const;
  const create = { width: side, height: side, channels: 3, background: '#000', noise: gaussian } as const;
  return sharp({ create }).jpeg().toBuffer();
}

describe('pictures that tools answer', () => {
  let api: TestGateway;
  let agent: Agent;
  let images: Server;
  let url: string;

  before(async () => {
    const pictures: Record<string, Buffer> = { '/small': await noise(40), '/large': await noise(900) };
    images = createServer((request, response) => void response.end(pictures[request.url ?? '']));
    await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
    api = await startTestGateway({ HELPER_SOURCE_ORIGINS: url });
    agent = await olderAgent(api.url, api.key);
  });

  after(async () => {
    await agent.close();
    await api.close();
    images.close();
  });

  const border = (input: Record<string, unknown>) =>
    agent.callTool({ name: 'media_add-border', arguments: input });

  it('are content for the model to look at', async () => {
    const { content, structuredContent } = await border({ url: `${url}/small`, width: 3 });
    expect(content).to.have.length(1);
    expect(content[0]).to.include({ type: 'image', mimeType: 'image/png' });
    expect((await sharp(Buffer.from(content[0].data, 'base64')).metadata()).width).to.equal(46);
    expect(structuredContent).to.equal(undefined);
  });

  it('are shown by a preview where clients do not take them, and linked whole', async () => {
    const { content } = await border({ url: `${url}/large`, width: 3 });
    const [preview, words, link] = content;
    expect(preview.type).to.equal('image');
    expect(preview.data.length).to.be.below(400_000);
    expect((await sharp(Buffer.from(preview.data, 'base64')).metadata()).width).to.be.above(100);
    expect(words.text).to.match(
      /^The result is a file of \d\.\d MB \(image\/png\)\. This is a preview of it\./,
    );
    expect(words.text).to.include('parameter ak');
    expect(link).to.include({ type: 'resource_link', name: 'add-border.png', mimeType: 'image/png' });
    const whole = await fetch(`${link.uri}&ak=${api.key}`);
    expect((await whole.arrayBuffer()).byteLength).to.equal(link.size);
  });

  it('are made once for the agent and for whoever opens the link, and stay whole', async () => {
    const ask = () => border({ url: `${url}/large`, width: 5 });
    const links = [(await ask()).content[2], (await ask()).content[2]];
    expect(links[0]).to.deep.equal(links[1]);
    const sizes: [string | null, number | undefined][] = [];
    for (const { uri } of links) {
      const whole = await fetch(`${uri}&ak=${api.key}`);
      // Whole to the last line: decoded, and not only looked at.
      const { info } = await sharp(await whole.arrayBuffer(), { failOn: 'warning' })
        .raw()
        .toBuffer({ resolveWithObject: true });
      sizes.push([whole.headers.get('x-cache'), info.width]);
    }
    expect(sizes).to.deep.equal([
      ['hit', 910],
      ['hit', 910],
    ]);
  });

  it('cannot be had of what is no picture, in the words of HTTP', async () => {
    const { content, isError } = await border({ url: `${url}/nothing` });
    expect(isError).to.equal(true);
    expect(content[0].text).to.match(/^(?:bad_image|source_failed): /);
  });

  it('come of a dry run as data', async () => {
    const { structuredContent } = await border({ dryrun: true, color: 'red' });
    expect(structuredContent).to.include({ source_url: null, color: '#ff0000' });
  });
});

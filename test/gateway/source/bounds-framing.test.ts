import { expect } from 'chai';
import { ok, redirect, rejection } from './raw-server.js';
import { serveRoutes } from './routes.js';

describe('createSource', () => {
  const { create, say, get, codeOf } = serveRoutes();

  describe('what is no file', () => {
    const hints = (bytes: number) => {
      const one = 'HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n';
      return one.repeat(Math.ceil(bytes / one.length));
    };

    it('is 64 KB before the final head at most', async () => {
      say('/some', Buffer.concat([Buffer.from(hints(50_000)), ok('abc') as Buffer]));
      say('/many', Buffer.concat([Buffer.from(hints(300_000)), ok('abc') as Buffer]));
      expect(await get('/some')).to.have.length(3);
      const error = await rejection(get('/many'));
      expect(error)
        .to.include({ code: 'source_failed' })
        .with.property('message')
        .that.includes('besides a file');
    });

    it('is counted over all redirects together', async () => {
      for (let hop = 1; hop <= 3; hop++) say(`/hop${hop}`, hints(25_000) + redirect(`/hop${hop - 1}`));
      say('/hop0', ok('there'));
      expect(await get('/hop2')).to.have.length(5);
      expect(await codeOf(get('/hop3'))).to.equal('source_failed');
    });

    it('is not the text that comes with a redirect', async () => {
      const page = 'a'.repeat(60_000);
      for (let hop = 1; hop <= 3; hop++) {
        say(
          `/page${hop}`,
          `HTTP/1.1 302 Found\r\nlocation: /page${hop - 1}\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
        );
      }
      say('/page0', ok('there'));
      expect(await get('/page3')).to.have.length(5);
    });

    it('is as much as chunks of a hundred bytes need, and not what chunks of one byte do', async () => {
      const large = create({ maxBytes: 2_000_000 });
      const chunks = (size: number, count: number) =>
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${`${size.toString(16)}\r\n${'a'.repeat(size)}\r\n`.repeat(count)}0\r\n\r\n`;
      say('/hundred', chunks(100, 15_000));
      say('/one', chunks(1, 300_000));
      expect(await get('/hundred', large)).to.have.length(1_500_000);
      expect(await codeOf(get('/one', large))).to.equal('source_failed');
    });

    it('is 16 KB for each head', async () => {
      const head = (bytes: number) =>
        `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(bytes)}\r\ncontent-length: 3\r\n\r\nabc`;
      say('/head', head(16_000));
      say('/long-head', head(17_000));
      say('/unfinished-head', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(17_000)}`);
      expect(await get('/head')).to.have.length(3);
      for (const path of ['/long-head', '/unfinished-head']) {
        expect((await rejection(get(path))).message).to.include('headers of more than 16384 bytes');
      }
    });

    it('may be a status line without an end, and that is an end', async () => {
      say('/status', `HTTP/1.1 200 ${'a'.repeat(500_000)}`);
      expect(await codeOf(get('/status'))).to.equal('source_failed');
    });
  });

  describe('a redirect', () => {
    const locations: Record<string, [string, RegExp]> = {
      'is too long': [`/${'a'.repeat(9000)}`, /Location is longer than the 8192 characters/],
      'is too long once it is percent-encoded': [
        `/${'ä'.repeat(1500)}`,
        /Location is longer than the 8192 characters/,
      ],
      'is longer than headers may be': [`/${'a'.repeat(20_000)}`, /headers of more than 16384 bytes/],
      'is no url': ['https://exa mple.com/', /Location is a string, but not a url/],
      'has a backslash': ['\\\\example.com\\', /Location has a control character .* or a backslash/],
    };
    for (const [name, [location, message]] of Object.entries(locations)) {
      it(`whose Location ${name} is the source's fault`, async () => {
        say('/redirect', redirect(location));
        const error = await rejection(get('/redirect'));
        expect(error).to.include({ code: 'source_failed' }).with.property('message').that.matches(message);
        expect(error).to.have.property('details', undefined);
      });
    }
  });
});

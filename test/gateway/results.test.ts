import { expect } from 'chai';
import { until } from '../until.js';
import type { TestGateway } from './harness.js';
import { shareGateway } from './shared.js';

const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';

describe('what a handler returns', () => {
  let api: TestGateway;

  before(async () => {
    ({ api } = await shareGateway());
  });

  for (const [where, path] of [
    ['in the pool', '/results/in-pool?kind='],
    ['on the main thread', '/results/in-line?kind='],
    ['in a dry run', '/results/rehearsed?dryrun=1&kind='],
  ] as const) {
    describe(where, () => {
      const call = (kind: string) => api.call(`${path}${encodeURIComponent(kind)}`);

      async function sent(kind: string): Promise<[number, string | null, string]> {
        const { status, headers, bytes } = await call(kind);
        return [status, headers.get('content-type'), new TextDecoder().decode(bytes)];
      }

      beforeEach(() => api.log.splice(0));

      /** What the log holds of the fault of this test's call; it is written when the answer has left. */
      async function logged(): Promise<string> {
        return JSON.stringify(await until(() => api.log.find(({ level }) => level === 50)));
      }

      it('may be text or bytes of a media type', async () => {
        expect(await sent('svg')).to.deep.equal([200, 'image/svg+xml', svg]);
        expect(await sent('bytes')).to.deep.equal([200, 'image/svg+xml', svg]);
        expect(await sent('page')).to.deep.equal([200, 'text/html; charset=utf-8', '<p>Grüße</p>']);
      });

      it('may be an object with a body and no type, which is data', async () => {
        const { status, json } = await call('body alone');
        expect([status, json.data]).to.deep.equal([200, { body: 'a letter', subject: 'hello' }]);
      });

      it('may hold what says itself how it is written as JSON', async () => {
        const { status, json } = await call('date');
        const data = { at: '1970-01-01T00:00:00.000Z', url: 'https://a.example/' };
        expect([status, json.data]).to.deep.equal([200, data]);
      });

      it('may bring headers with its bytes, in place of the gateway’s where they are not its own', async () => {
        const { status, headers } = await call('headers');
        expect(status).to.equal(200);
        expect(headers.get('content-disposition')).to.equal('attachment; filename="a.svg"');
        expect(headers.get('cache-control')).to.equal('public, max-age=60');
        expect(headers.get('etag')).to.equal('"1"');
        expect(headers.get('vary')).to.match(/accept/i);
        expect(headers.get('x-own')).to.equal('ü');
        expect(headers.get('x-content-type-options')).to.equal('nosniff');
      });

      it('is bounded as text, too', async () => {
        const { status, json } = await call('long');
        expect([status, json.error.code]).to.deep.equal([413, 'too_large']);
      });

      for (const [kind, told] of [
        ['header of the gateway', /header \\"Set-Cookie\\" is the gateway's own/],
        ['header of two lines', /header \\"x-a\\" cannot be sent/],
        ['header that is a number', /header \\"x-a\\" must be a string, but is a number/],
        ['status', /status beside body and type/],
        ['no media type', /media type of its body, such as image\/png, but its type is \\"svg\\"/],
        ['another charset', /iso-8859-1/],
        ['response', /returned a Response; .*\{body: Uint8Array \| string, type/],
        ['stream', /returned a ReadStream/],
        ['body of a stream', /its body is a ReadStream/],
        ['map inside', /found\.0\.by is a Map/],
        ['promise inside', /later is a Promise/],
        ['function inside', /items\.0\.run is a function/],
        ['symbol inside', /kind is a symbol/],
        ['buffer inside', /hash is a Buffer/],
        ['error inside', /failed is an Error/],
        ['data that becomes nothing', /returned an object whose toJSON gives undefined/],
      ] as const) {
        it(`is a fault that the log tells of where it would be lost: ${kind}`, async () => {
          const { status, json } = await call(kind);
          expect([status, json.error?.code]).to.deep.equal([500, 'internal']);
          expect(JSON.stringify(json)).not.to.include('secret');
          expect(await logged()).to.match(told);
        });
      }

      it('and what it throws is logged whole, with its causes', async () => {
        expect((await call('chain')).status).to.equal(500);
        const line = await logged();
        expect(line).to.include('secret query').and.include('secret tries').and.include('secret type');
        expect(line).to.include('secret connection').and.include('ECONNREFUSED').and.include('TypeError');
      });
    });
  }
});

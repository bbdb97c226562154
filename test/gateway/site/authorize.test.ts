import { expect } from 'chai';
import { createKeyInputs } from '../../../gateway/keys/inputs.js';
import { apiRoutes } from '../../../gateway/site/api.js';
import { createApiClient } from './api-client.js';
import { signedIn } from './browser-like.js';
import { openTestSite, operatorToken, type TestSite, withTestSite } from './test-site.js';

describe('site/api: who may use it', () => {
  let site: TestSite;
  let cookie: string;
  before(async () => {
    site = await openTestSite({ proxies: 1 });
    cookie = [...(await signedIn(site.url, site.operator)).cookies].map((pair) => pair.join('=')).join('; ');
  });
  after(() => site.close());
  const call = createApiClient(() => site);

  const protectedPaths = [
    ...apiRoutes(createKeyInputs({ services: () => [], now: Date.now })).map(({ method, path }) => ({
      method,
      path,
    })),
    { method: 'GET', path: '/api/openapi.json' },
    { method: 'GET', path: '/metrics' },
    { method: 'GET', path: '/api' },
    { method: 'GET', path: '/api/nothing-here' },
  ];
  for (const [at, { method, path }] of protectedPaths.entries()) {
    // Each with tries of its own.
    const address = { 'x-forwarded-for': `198.51.100.${at}` };
    it(`opens ${method} ${path} to the operator token alone`, async () => {
      const concrete = path.replace(/:\w+/g, 'nobody');
      const attempts: Record<string, string>[] = [
        { authorization: '' },
        { authorization: 'Bearer' },
        { authorization: 'Bearer wrong' },
        { authorization: `Bearer ${operatorToken}x` },
        { authorization: `Basic ${btoa(`operator:${operatorToken}`)}` },
        { authorization: '', cookie },
      ];
      for (const headers of attempts) {
        const answer = await call(method, concrete, undefined, { headers: { ...address, ...headers } });
        expect(answer.status, JSON.stringify(headers)).to.equal(401);
        expect(answer.json.error?.code).to.equal('unauthorized');
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer /);
      }
      const response = await fetch(`${site.url}${concrete}`, {
        method,
        headers: { ...address, authorization: `bearer ${operatorToken}` },
      });
      expect(response.status).not.to.equal(401);
    });
  }

  it('is closed to everybody where no token is set', async () => {
    await withTestSite({ operatorToken: undefined }, async (closed) => {
      for (const authorization of ['', 'Bearer ', 'Bearer undefined']) {
        const { status } = await fetch(`${closed.url}/api/tenants`, { headers: { authorization } });
        expect(status).to.equal(401);
      }
    });
  });

  it('slows down wrong tokens by address, and never the right one', async () => {
    const ask = (authorization: string, address: string) =>
      fetch(`${site.url}/metrics`, { headers: { authorization, 'x-forwarded-for': address } });
    const guesses = await Promise.all(
      Array.from({ length: 40 }, (_, n) => ask(`Bearer guess-${n}`, '192.0.2.1')),
    );
    expect(guesses.filter(({ status }) => status === 401)).to.have.length(30);
    const refused = guesses.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get('retry-after'))).to.be.within(1, 600);
    expect(refused?.headers.get('www-authenticate')).to.equal(null);
    expect(await refused?.text()).to.include('"code":"rate_limited"');
    expect((await ask('Bearer guess', '192.0.2.2')).status).to.equal(401);
    expect((await ask('', '192.0.2.1')).status, 'no guess at all').to.equal(401);
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      expect((await ask(`Bearer ${operatorToken}`, address)).status).to.equal(200);
    }
  });
});

import { expect } from 'chai';
import { apiRoutes } from '../../../../gateway/connect/api/routes.js';
import { signedIn } from '../browser-like.js';
import { openTestSite, services, type TestSite, TOKEN } from '../test-site.js';
import { createApiClient } from './api-client.js';

describe('connect/api: who may use it', () => {
  let site: TestSite;
  before(async () => {
    site = await openTestSite();
  });
  after(() => site.close());
  const call = createApiClient(() => site);

  const protectedPaths = [
    ...apiRoutes({ services: () => services, now: Date.now }).map(({ method, path }) => ({ method, path })),
    { method: 'GET', path: '/api/openapi.json' },
    { method: 'GET', path: '/metrics' },
    { method: 'GET', path: '/api' },
    { method: 'GET', path: '/api/nothing-here' },
  ];
  for (const { method, path } of protectedPaths) {
    it(`opens ${method} ${path} to the operator token alone`, async () => {
      const cookie = [...(await signedIn(site.url, site.operator)).cookies]
        .map((pair) => pair.join('='))
        .join('; ');
      const concrete = path.replace(/:\w+/g, 'nobody');
      const attempts: Record<string, string>[] = [
        { authorization: '' },
        { authorization: 'Bearer' },
        { authorization: 'Bearer wrong' },
        { authorization: `Bearer ${TOKEN}x` },
        { authorization: `Basic ${btoa(`operator:${TOKEN}`)}` },
        { authorization: '', cookie },
      ];
      for (const headers of attempts) {
        const answer = await call(method, concrete, undefined, { headers });
        expect(answer.status, JSON.stringify(headers)).to.equal(401);
        expect(answer.json.error?.code).to.equal('unauthorized');
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer /);
      }
      const response = await fetch(`${site.url}${concrete}`, {
        method,
        headers: { authorization: `bearer ${TOKEN}` },
      });
      expect(response.status).not.to.equal(401);
    });
  }

  it('is closed to everybody where no token is set', async () => {
    const closed = await openTestSite({ operatorToken: undefined });
    try {
      for (const authorization of ['', 'Bearer ', 'Bearer undefined']) {
        const { status } = await fetch(`${closed.url}/api/tenants`, { headers: { authorization } });
        expect(status).to.equal(401);
      }
    } finally {
      await closed.close();
    }
  });
});

import { expect } from 'chai';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase } from '../../databases.js';
import { compileRecipe } from '../../keys/recipe-compiler.js';
import { signing } from '../../signing/signing.js';
import { type BrowserLike, hiddenFields, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { services, useTestSite, withTestSite } from '../test-site.js';

const api = 'http://127.0.0.1:8080';

/** The text of the element with an id, as a browser reads it. */
function textOf(html: string, id: string): string {
  const inside = new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(html)?.[1] ?? '';
  return inside.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

/** The day that is so many on. */
function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

describe('the pages of signed urls and webhooks', () => {
  const site = useTestSite();
  let tenant: string;
  let member: BrowserLike;
  let id: string;
  let base: string;
  before(async () => {
    tenant = (await site.admin.createTenant('acme', 'test')).id;
    member = await join(site, 'acme', 'ada@acme.example');
  });
  beforeEach(() => issue({}));

  async function issue(options: Parameters<typeof site.admin.issueKey>[1]): Promise<void> {
    id = (await site.admin.issueKey('acme', { label: 'web', ...options }, 'test')).id;
    base = `/keys/${id}`;
  }
  async function sign(fields: Record<string, string> = {}) {
    await member.get(base);
    const url = '/media/add-border?width=24&color=teal';
    return member.submit(`${base}/sign`, { url, expires: '7', ...fields });
  }

  it('sign an address, for a page and with a preview of the API’s origin and no other', async () => {
    const { status, html, headers } = await sign();
    expect(status).to.equal(200);
    const url = textOf(html, 'signed');
    expect(url).to.match(
      new RegExp(`^${api}/media/add-border\\?width=24&color=teal&kid=${id}&exp=\\d+&sig=[\\w-]{43}$`),
    );
    const escaped = url.replaceAll('&', '&amp;');
    expect(textOf(html, 'img')).to.equal(`<img src="${escaped}" alt="">`);
    expect(html).to.include(`<img src="${escaped}" alt="Preview`);
    expect(headers.get('content-security-policy')).to.include(`; img-src 'self' data: ${api};`);
    expect(headers.get('cache-control')).to.equal('no-store');
    // What was typed stays, for the next.
    expect(html).to.include('value="/media/add-border?width=24&amp;color=teal"');
  });

  it('name no foreign origin where there is no preview', async () => {
    const text = await sign({ url: '/text/remove-stopwords?text=the+cat' });
    const dry = await sign({ url: '/media/add-border?dryrun=1' });
    for (const { html } of [text, dry])
      expect(html).to.include('answers with JSON').and.not.to.include('<img ');
    const others = [
      await sign({ url: '/nothing' }),
      await member.get(`${base}/sign`),
      await member.get(base),
    ];
    for (const page of [text, dry, ...others])
      expect(page.headers.get('content-security-policy')).to.include("img-src 'self' data:;");
  });

  it('say why where no preview can be', async () => {
    await withTestSite({ apiUrl: 'http://[::1]:8080' }, async (other) => {
      await other.admin.createTenant('acme', 'test');
      const key = await other.admin.issueKey('acme', {}, 'test');
      const operator = await signedIn(other.url, other.operator);
      const page = `/keys/${key.id}/sign`;
      await operator.get(page);
      const { html, headers } = await operator.submit(page, { url: '/media/add-border', expires: '1' });
      expect(textOf(html, 'signed')).to.match(/^http:\/\/\[::1\]:8080\/media\/add-border\?kid=/);
      expect(html).to.include('No preview: a page’s policy cannot name').and.not.include('<img ');
      expect(headers.get('content-security-policy')).to.include("img-src 'self' data:;");
    });
  });

  it('say beside each field what is wrong with it, and sign no helper that the key may not call', async () => {
    const page = await sign({ url: '/media/add-borde', expires: 'day', until: '2020-01-01' });
    expect(page.status).to.equal(400);
    expect(page.html)
      .to.include('Address has the path &quot;/media/add-borde&quot;, which is no helper')
      .and.include('Day of your own is 2020-01-01, which has passed')
      .and.include('value="/media/add-borde"')
      .and.not.include('id="signed"');
    await issue({ scopes: ['text/*'] });
    const refused = await sign();
    expect(refused.status).to.equal(400);
    expect(refused.html)
      .to.include(`Address names media/add-border, which ${id} may not call`)
      .and.include('placeholder="/text/diff-two-strings"');
  });

  it('fill in programs with the address and the key’s id, and never with the secret', async () => {
    const { html } = await sign({ url: "/media/add-border?text=it's" });
    for (const file of ['sign-mjs', 'sign-py', 'sign-php', 'sign-go', 'sign-rb']) {
      expect(textOf(html, `${file}-call`))
        .to.include(`${api}/media/add-border?text=it%27s`)
        .and.include(id);
      expect(textOf(html, file)).to.include('hg1');
    }
    expect(html.match(/SIGNING_SECRET/g)).to.have.length(6);
    expect(html).not.to.match(/hgs_[\w-]{43}/);
  });

  it('say when the key ends before the url, and lead from a new key to its signed urls', async () => {
    await issue({ expires_at: inDays(100) });
    const { html } = await sign({ expires: 'day', until: inDays(200) });
    expect(html)
      .to.include(`${inDays(100)} 00:00 UTC`)
      .and.include(', when this key expires');
    await member.get('/tenants/acme');
    const shown = await member.submit('/tenants/acme/keys', {});
    const way = /href="(\/keys\/key_\w+\/sign)"/.exec(shown.html)?.[1] ?? '';
    expect((await member.get(way)).html).to.include('Sign an address');
  });

  for (const [what, pattern, subject, paths, actions, secret] of [
    [
      'the signing secret of a key',
      /hgs_[\w-]{43}/,
      () => ({ key: id }),
      () => [base, `${base}/signing-secret`, `${base}/rotate-signing`],
      ['key.signing_secret', 'key.rotate_signing', 'Every url that was signed for this key stops'],
      (version: number) => signing.current(id, version),
    ],
    [
      'a tenant’s webhook secret',
      /whsec_[\w+/]{43}=/,
      () => ({ tenant: 'acme' }),
      () => ['/tenants/acme/webhooks', '/tenants/acme/webhooks/secret', '/tenants/acme/webhooks/rotate'],
      ['tenant.webhook_secret', 'tenant.rotate_webhook_secret', 'For 24 hours'],
      (version: number) => signing.webhooks.current(tenant, version),
    ],
  ] as const) {
    it(`show ${what} on request alone, and replace it after asking, once a form; each time noted`, async () => {
      const [page = '', show = '', rotate = ''] = paths();
      const [shown, replaced, warning] = actions;
      for (const time of [1, 2]) {
        expect((await member.get(page)).html, `${time}`).not.to.match(pattern);
        const { html, headers } = await member.submit(show);
        expect(pattern.exec(html)?.[0]).to.equal(secret(1));
        expect(headers.get('cache-control')).to.equal('no-store');
      }
      expect((await member.get(show)).location).to.equal(page);
      const asks = (await member.get(rotate)).html;
      expect(asks).to.include(warning).and.not.to.match(pattern);
      const fields = hiddenFields(asks, rotate);
      expect(pattern.exec((await member.post(rotate, fields)).html)?.[0]).to.equal(secret(2));
      // A reload of the answer does nothing.
      expect((await member.post(rotate, fields)).status).to.equal(409);
      const { entries } = await site.admin.audit(subject());
      const noted = entries.filter(({ action }) => action === shown || action === replaced);
      expect(noted.map(({ actor, action }) => `${actor} ${action}`)).to.deep.equal(
        [replaced, shown, shown].map((action) => `user:ada@acme.example ${action}`),
      );
      expect(site.logs.join('')).not.to.match(pattern);
    });
  }

  it('sign with the new secret', async () => {
    const before = textOf((await sign()).html, 'signed');
    await site.admin.rotateSigning(id, 'test');
    const after = textOf((await sign()).html, 'signed');
    expect(after.replace(/sig=.*/, '')).to.equal(before.replace(/sig=.*/, ''));
    expect(after).not.to.equal(before);
  });

  it('are not there for a key that has ended: they lead to its page', async () => {
    const { _token = '' } = hiddenFields((await member.get(base)).html, `${base}/sign`);
    await site.admin.revokeKey(id, 'test');
    for (const page of ['sign', 'rotate-signing', 'signing-secret']) {
      expect((await member.get(`${base}/${page}`)).location, page).to.equal(base);
      const posted = await member.post(`${base}/${page}`, { _token, _once: page, url: '/x' });
      expect(posted.location, page).to.equal(base);
    }
    expect((await member.get(base)).html).not.to.include('Signed urls');
    expect((await site.admin.audit({ key: id })).entries[0]?.action).to.equal('key.revoke');
  });

  it('say what is missing where the gateway has no master secret', async () => {
    const database = await createSqliteDatabase();
    const none = createSigningSecrets(undefined);
    const ids = () => services.map((each) => each.id);
    const admin = createKeyAdmin({
      store: await database.open(),
      signing: none,
      compileRecipe,
      services: ids,
    });
    await withTestSite(
      { admin, signing: none },
      async (without) => {
        await admin.createTenant('acme', 'test');
        const key = await admin.issueKey('acme', {}, 'test');
        const operator = await signedIn(without.url, without.operator);
        const keyPage = `/keys/${key.id}`;
        for (const [page, missing, ways] of [
          [keyPage, 'Sign address', ['sign', 'rotate-signing']],
          ['/tenants/acme/webhooks', 'Show webhook secret', ['rotate']],
        ] as const) {
          const { html } = await operator.get(page);
          expect(html).to.include('HELPER_SIGNING_SECRET').and.not.include(missing);
          for (const way of ways) expect((await operator.get(`${page}/${way}`)).location).to.equal(page);
        }
        await operator.get('/tenants/acme');
        const issued = await operator.submit('/tenants/acme/keys', {});
        expect(issued.html).to.include('Your new key').and.not.include('/sign"');
      },
      database,
    );
  });
});

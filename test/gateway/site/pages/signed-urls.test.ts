import { expect } from 'chai';
import { createKeyAdmin } from '../../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase } from '../../databases.js';
import { signing } from '../../signing/signing.js';
import { type BrowserLike, signedIn } from '../browser-like.js';
import { join } from '../members.js';
import { services, useTestSite, withTestSite } from '../test-site.js';

const api = 'http://127.0.0.1:8080';
const secretText = /hgs_[\w-]{43}/;

/** The text of the element with an id, as a browser reads it. */
function textOf(html: string, id: string): string {
  const inside = new RegExp(`id="${id}"[^>]*>([^<]*)<`).exec(html)?.[1] ?? '';
  return inside.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
}

/** The day that is so many on. */
function inDays(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

describe('the pages of signed urls', () => {
  const site = useTestSite();
  let member: BrowserLike;
  let id: string;
  let base: string;
  before(async () => {
    await site.admin.createTenant('acme', 'test');
    member = await join(site, 'acme', 'ada@acme.example');
  });
  beforeEach(async () => {
    id = (await site.admin.issueKey('acme', { label: 'web' }, 'test')).id;
    base = `/tenants/acme/keys/${id}`;
  });

  async function sign(fields: Record<string, string>) {
    await member.get(base);
    return member.submit(`${base}/sign`, {
      url: '/media/add-border?width=24&color=teal',
      expires: '7',
      ...fields,
    });
  }

  it('sign an address, for a page and with a preview of the API’s origin and no other', async () => {
    const { status, html, headers } = await sign({});
    expect(status).to.equal(200);
    const url = textOf(html, 'signed');
    expect(url).to.match(
      new RegExp(`^${api}/media/add-border\\?width=24&color=teal&kid=${id}&exp=\\d+&sig=[\\w-]{43}$`),
    );
    expect(textOf(html, 'img')).to.equal(`<img src="${url.replaceAll('&', '&amp;')}" alt="">`);
    expect(html).to.include(`<img src="${url.replaceAll('&', '&amp;')}" alt="Preview`);
    expect(headers.get('content-security-policy')).to.equal(
      `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: ${api}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(headers.get('cache-control')).to.equal('no-store');
    // What was typed stays, for the next.
    expect(html).to.include('value="/media/add-border?width=24&amp;color=teal"');
  });

  it('name no foreign origin where there is no preview', async () => {
    const text = await sign({ url: '/text/remove-stopwords?text=the+cat' });
    expect(text.html).to.include('answers with JSON').and.not.to.include('<img ');
    const dry = await sign({ url: '/media/add-border?dryrun=1' });
    expect(dry.html).to.include('dry run').and.include('answers with JSON').and.not.to.include('<img ');
    for (const page of [
      text,
      dry,
      await sign({ url: '/nothing' }),
      await member.get(`${base}/sign`),
      await member.get(base),
    ])
      expect(page.headers.get('content-security-policy')).to.include("img-src 'self' data:;");
  });

  it('say why where no preview can be', async () => {
    await withTestSite({ apiUrl: 'http://[::1]:8080' }, async (other) => {
      await other.admin.createTenant('acme', 'test');
      const key = await other.admin.issueKey('acme', {}, 'test');
      const operator = await signedIn(other.url, other.operator);
      const page = `/tenants/acme/keys/${key.id}/sign`;
      await operator.get(page);
      const { html, headers } = await operator.submit(page, { url: '/media/add-border', expires: '1' });
      expect(textOf(html, 'signed')).to.match(/^http:\/\/\[::1\]:8080\/media\/add-border\?kid=/);
      expect(html).to.include('No preview: a page’s policy cannot name').and.not.include('<img ');
      expect(headers.get('content-security-policy')).to.include("img-src 'self' data:;");
    });
  });

  it('say beside each field what is wrong with it', async () => {
    const page = await sign({ url: '/media/add-borde', expires: 'day', until: '2020-01-01' });
    expect(page.status).to.equal(400);
    expect(page.html)
      .to.include('Address has the path &quot;/media/add-borde&quot;, which is no helper')
      .and.include('did you mean &quot;/media/add-border&quot;')
      .and.include('Day of your own is 2020-01-01, which has passed')
      .and.include('value="/media/add-borde"')
      .and.not.include('id="signed"');
  });

  it('sign no helper that the key may not call', async () => {
    id = (await site.admin.issueKey('acme', { scopes: ['text/*'] }, 'test')).id;
    base = `/tenants/acme/keys/${id}`;
    const page = await sign({});
    expect(page.status).to.equal(400);
    expect(page.html)
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
    expect(html).not.to.match(secretText);
  });

  it('show the secret on request alone, each time noted', async () => {
    const shown = async () => {
      await member.get(base);
      return member.submit(`${base}/signing-secret`);
    };
    expect((await member.get(base)).html).not.to.match(secretText);
    const first = await shown();
    expect(first.headers.get('cache-control')).to.equal('no-store');
    expect(textOf(first.html, 'secret')).to.equal(signing.current(id, 1));
    expect(textOf((await shown()).html, 'secret')).to.equal(signing.current(id, 1));
    expect((await member.get(`${base}/signing-secret`)).location).to.equal(base);
    const { entries } = await site.admin.audit({ key: id });
    expect(entries.map(({ action, actor }) => [action, actor.replace(/:.*/, '')])).to.deep.equal([
      ['key.signing_secret', 'user'],
      ['key.signing_secret', 'user'],
      ['key.issue', 'test'],
    ]);
    expect(site.logs.join('')).not.to.match(secretText);
  });

  it('replace the secret after asking, once, and sign with the new one', async () => {
    const before = textOf((await sign({})).html, 'signed');
    expect((await member.get(`${base}/rotate-signing`)).html).to.include(
      'Every url that was signed for this key stops',
    );
    const replaced = await member.submit(`${base}/rotate-signing`);
    expect(textOf(replaced.html, 'secret')).to.equal(signing.current(id, 2));
    const signed = textOf((await sign({})).html, 'signed');
    expect(signed.replace(/sig=.*/, '')).to.equal(before.replace(/sig=.*/, ''));
    expect(signed).not.to.equal(before);
    // A reload of the answer does nothing.
    await member.get(`${base}/rotate-signing`);
    const again = { _token: '', _once: 'the-same-mark' };
    const { html } = await member.get(`${base}/rotate-signing`);
    again._token = /name="_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
    expect((await member.post(`${base}/rotate-signing`, again)).status).to.equal(200);
    expect((await member.post(`${base}/rotate-signing`, again)).status).to.equal(409);
    expect((await site.store.key(id))?.signing_version).to.equal(3);
  });

  it('tell when the key ends before the url, and lead from a new key to its signed urls', async () => {
    const issued = await site.admin.issueKey('acme', { expires_at: inDays(100) }, 'test');
    id = issued.id;
    base = `/tenants/acme/keys/${id}`;
    const { html } = await sign({ expires: 'day', until: inDays(200) });
    expect(html)
      .to.include(`${inDays(100)} 00:00 UTC`)
      .and.include(', when this key expires');
    await member.get('/tenants/acme');
    const shown = await member.submit('/tenants/acme/keys', {});
    const way = /href="(\/tenants\/acme\/keys\/key_\w+\/sign)"/.exec(shown.html)?.[1] ?? '';
    expect((await member.get(way)).html).to.include('Sign an address');
  });

  it('are not there for a key that has ended: they lead to its page', async () => {
    const { html } = await member.get(base);
    const _token = /name="_token" value="([^"]+)"/.exec(html)?.[1] ?? '';
    await site.admin.revokeKey(id, 'test');
    for (const page of ['sign', 'rotate-signing', 'signing-secret'])
      expect((await member.get(`${base}/${page}`)).location, page).to.equal(base);
    for (const page of ['sign', 'signing-secret', 'rotate-signing'])
      expect(
        (await member.post(`${base}/${page}`, { _token, _once: page, url: '/x' })).location,
        page,
      ).to.equal(base);
    expect((await member.get(base)).html).not.to.include('Signed urls');
    expect((await site.admin.audit({ key: id })).entries[0]?.action).to.equal('key.revoke');
  });

  it('say what is missing where the gateway has no master secret', async () => {
    const database = await createSqliteDatabase();
    const none = createSigningSecrets(undefined);
    const ids = () => services.map((each) => each.id);
    const admin = createKeyAdmin({ store: await database.open(), signing: none, services: ids });
    await withTestSite(
      { admin, signing: none },
      async (without) => {
        await admin.createTenant('acme', 'test');
        const key = await admin.issueKey('acme', {}, 'test');
        const operator = await signedIn(without.url, without.operator);
        const page = `/tenants/acme/keys/${key.id}`;
        const { html } = await operator.get(page);
        expect(html).to.include('HELPER_SIGNING_SECRET').and.not.include('Sign address');
        for (const way of ['sign', 'rotate-signing'])
          expect((await operator.get(`${page}/${way}`)).location).to.equal(page);
        await operator.get('/tenants/acme');
        const issued = await operator.submit('/tenants/acme/keys', {});
        expect(issued.html).to.include('Your new key').and.not.include('/sign"');
      },
      database,
    );
  });
});

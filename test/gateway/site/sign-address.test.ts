import { expect } from 'chai';
import { GatewayError } from '../../../gateway/errors.js';
import { isSignedBy, signedText, signUrl } from '../../../gateway/signing/signed-url.js';
import { type SignWith, signAddress, whyNoPreview } from '../../../gateway/site/sign-address.js';
import { parseUrlencoded } from '../../../schemas/input/parse.js';
import { services } from './test-site.js';

const now = Date.parse('2026-11-22T11:38:34Z');
const secret = `hgs_${'s'.repeat(43)}`;

function sign(fields: Record<string, string>, changes: Partial<SignWith> = {}) {
  const form = { url: '/media/add-border?width=24', expires: '7', ...fields };
  return signAddress(new Map(Object.entries(form)), {
    sign: async ({ url, exp }) => signUrl({ url, kid: 'key_4fGhJ2kLm9Pq', secret, exp }),
    services,
    apiUrl: 'http://127.0.0.1:8080',
    now,
    ...changes,
  });
}

/** What is wrong, by field. */
async function problemsOf(fields: Record<string, string>): Promise<Record<string, string>> {
  const error = await sign(fields).catch((error) => error);
  if (!(error instanceof GatewayError)) return {};
  expect(error.code).to.equal('invalid_input');
  return Object.fromEntries((error.details ?? []).map(({ field, problem }) => [field, problem]));
}

/** Whether the gateway would accept a url as one that was signed with the secret. */
function holds(url: string): boolean {
  const { pathname, search } = new URL(url);
  const { values } = parseUrlencoded(search.slice(1));
  return isSignedBy([secret], signedText({ path: pathname, values }), values.get('sig') ?? '');
}

describe('site/sign-address', () => {
  it('signs a path as the API’s own, and an address where it stands, which is previewed at the API', async () => {
    const path = await sign({ url: ' /media/add-border?color=dusty rose&text=ü+&&width=24 ' });
    expect(path.url).to.match(/^http:\/\/127\.0\.0\.1:8080\/media\/add-border\?color=dusty%20rose&/);
    expect(path.atApi).to.equal(path.url);
    const whole = await sign({ url: 'https://img.example.com/media/add-border?width=24' });
    expect(whole.url).to.match(/^https:\/\/img\.example\.com\/media\/add-border\?width=24&kid=/);
    expect(whole.atApi).to.equal(whole.url.replace('https://img.example.com', 'http://127.0.0.1:8080'));
    // The other way to write it has a signature of its own.
    const other = await sign({ url: '/img/add-border?width=24' });
    expect(other.service.id).to.equal('media/add-border');
    expect([path, whole, other].map(({ url }) => holds(url))).to.deep.equal([true, true, true]);
  });

  it('writes the address in one way, of characters that end no string in any language', async () => {
    for (const [url, address] of [
      [
        "/media/add-border?text=%27%22\\$`{}%23&a=it's&b=<>&a-b=%0A",
        '/media/add-border?a=it%27s&a-b=%0A&b=%3C%3E&text=%27%22%5C%24%60%7B%7D%23',
      ],
      ['/media/add-border', '/media/add-border'],
    ] as const)
      expect((await sign({ url })).address).to.equal(address);
  });

  it('counts days from the next full hour, so that the same address gives the same url for an hour', async () => {
    for (const [fields, end] of [
      [{ expires: '1' }, '2026-11-23T12:00:00Z'],
      [{ expires: '30' }, '2026-12-22T12:00:00Z'],
      [{ expires: 'day', until: '2027-01-31' }, '2027-01-31T00:00:00Z'],
    ] as const)
      expect((await sign(fields)).expires).to.equal(Date.parse(end));
    const { url } = await sign({});
    expect((await sign({}, { now: now + 20 * 60_000 })).url).to.equal(url);
    expect(url).to.include(`&exp=${Date.parse('2026-11-29T12:00:00Z') / 1000}&`);
  });

  it('says of each field what is wrong with it, all at once', async () => {
    expect(await problemsOf({ url: '', expires: 'never' })).to.deep.equal({
      url: 'must be given: the address of a helper with its parameters',
      expires: 'must be one of the choices',
    });
    expect(
      await problemsOf({ url: '/media/add-borde?width=24', expires: 'day', until: '2020-01-01' }),
    ).to.deep.equal({
      url: 'has the path "/media/add-borde", which is no helper\'s; did you mean "/media/add-border"?',
      until: 'is 2020-01-01, which has passed; it must lie in the future',
    });
    for (const until of ['', 'soon', '2030-02-31', '31.1.2030'])
      expect(await problemsOf({ expires: 'day', until }), until).to.have.keys('until');
    expect(await problemsOf({ expires: 'day', until: '2027-11-24' })).to.deep.equal({
      until: 'would have the url work until 2027-11-24T00:00:00.000Z; it may work for 366 days at most',
    });
    expect(await problemsOf({ expires: 'day', until: '2027-11-23' })).to.deep.equal({});
    expect((await problemsOf({ expires: '7', until: '2030-01-31' })).until).to.include('another choice');
  });

  it('refuses an address that could not work', async () => {
    for (const [url, said] of [
      ['/media/add-border?ak=hg_x', 'must not have the parameter ak'],
      ['/media/add-border?sig=x', 'must not have the parameter sig'],
      ['/media/add-border?color=#fff', '%23'],
      ['/media/add-border?width=1&width=2', 'more than once'],
      ['/media/add-border?text=%ff', 'UTF-8'],
      ['media/add-border?width=1', 'must be an address with http or https'],
      ['javascript:alert(1)', 'must be an address with http or https'],
      ['//evil.example/media/add-border', 'must be an address with http or https'],
      ['https://api.example.com/media/add-border/', 'did you mean "/media/add-border"?'],
      ['/', "which is no helper's"],
      ['/__proto__', "which is no helper's"],
    ] as const)
      expect((await problemsOf({ url })).url, url).to.include(said);
  });

  it('says why there is no preview, where the browser could not show one', () => {
    for (const [site, api, reason] of [
      ['http://127.0.0.1:8081', 'http://127.0.0.1:8080'],
      ['http://localhost:8081', 'http://127.0.0.1:8080'],
      ['https://keys.example.com', 'https://api.example.com'],
      ['http://127.0.0.1:8081', 'https://api.example.com'],
      ['http://192.0.2.7:8081', 'http://192.0.2.7:8080'],
      ['https://keys.example.com', 'http://127.0.0.1:8080', 'HELPER_API_URL'],
      ['https://keys.example.com', 'http://0.0.0.0:8080', 'HELPER_API_URL'],
      ['https://keys.example.com', 'http://[::]:8080', 'HELPER_API_URL'],
      ['https://keys.example.com', 'http://api.example.com', 'without https'],
      ['http://[::1]:8081', 'http://[::1]:8080', 'IPv6'],
    ] as const)
      expect(whyNoPreview(site, api) ?? 'shown', `${site} of ${api}`).to.include(reason ?? 'shown');
  });
});

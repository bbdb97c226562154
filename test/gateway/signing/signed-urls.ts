import { expect } from 'chai';
import fc from 'fast-check';
import type { ActiveKey, KeyVerifier } from '../../../gateway/keys/verifier.js';
import { authenticate, authenticateSigned } from '../../../gateway/pipeline/authenticate.js';
import type { HttpCall } from '../../../gateway/pipeline/stage.js';
import { signUrl } from '../../../gateway/signing/signed-url.js';
import { signing } from './signing.js';
import { changes, drawFrom, meaningOf } from './tamper.js';

const versions: Record<string, number> = { key_one: 1, key_other: 3 };
const limits = { rate: null, burst: null, monthly_quota: null, in_flight: null };
const tenant: ActiveKey['tenant'] = { id: 'ten_1', name: 'acme', limits, weight: 1 };
const exp = 2_000_000_000;

const keys: Pick<KeyVerifier, 'verify' | 'verifySigned'> = {
  verify: async () => ({ state: 'unknown' }),
  async verifySigned(id, isSigned) {
    const version = versions[id];
    if (version === undefined || !isSigned(version)) return { state: 'unknown' };
    return { state: 'active', tenant, key: { id, label: null, scopes: null } };
  },
};
const stage = authenticate(
  keys,
  authenticateSigned(keys, signing, () => (exp - 1) * 1000),
);

/** The code that a GET of this url ends with, or `passed`. */
export async function outcome(url: string): Promise<string> {
  const at = url.indexOf('?');
  const [path, querystring] = at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)];
  const ctx = { method: 'GET', path, querystring, headers: {}, state: {}, get: () => '' };
  try {
    await stage(
      { ctx, state: {}, bodyBytes: 0 } as unknown as HttpCall,
      async () => ({ kind: 'data', text: '' }) as never,
    );
    return 'passed';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function sign(path: string, values: Iterable<[string, string]>): string {
  const url = `${path}?${[...values].map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;
  return signUrl({ url, kid: 'key_one', secret: signing.current('key_one', 1), exp });
}

const names = fc.oneof(
  fc.constantFrom('url', 'color', 'text', 'a', 'A', 'kid2', 'expires', 'sigs'),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }),
);
const values = fc.oneof(
  fc.constantFrom(
    'https://example.com/a b.jpg?x=1&y=2',
    'rgb(1 2 3)',
    '5%',
    '',
    "it's (a) *!~",
    'a+b',
    '%41',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
export const signedUrls = fc
  .tuple(
    fc.constantFrom('/media/add-border', '/img/add-border', '/text/diff-two-strings'),
    fc.uniqueArray(fc.tuple(names, values), { maxLength: 5, selector: ([name]) => name }),
  )
  .filter(([, given]) => given.every(([name]) => !['ak', 'kid', 'exp', 'sig'].includes(name)))
  .map(([path, given]) => sign(path, given));

/** Of so many urls that mean something else, none passes. */
export function tamperingTest(count: number): void {
  it(`passes in none of ${count} tamperings`, async () => {
    let tampered = 0;
    const codes = new Map<string, number>();
    while (tampered < count) {
      await fc.assert(
        fc.asyncProperty(signedUrls, fc.nat(), async (url, start) => {
          const draw = drawFrom(start);
          const meant = meaningOf(url);
          for (let n = 0; n < 250; n += 1) {
            const change = changes[draw(changes.length)] as (typeof changes)[0];
            const other = change(url, draw);
            if (meaningOf(other) === meant) continue;
            tampered += 1;
            const code = await outcome(other);
            if (code === 'passed') throw new Error(`It passes: ${other}`);
            // A change may happen to make a key of a name.
            if (code === 'invalid_input' && /[?&]ak=/.test(other)) continue;
            codes.set(code, (codes.get(code) ?? 0) + 1);
          }
        }),
        { numRuns: 40 },
      );
    }
    // Without its whole query a url has neither key nor signature; everything else gets one code.
    expect([...codes.keys()]).to.have.members(['signature_invalid', 'key_missing']);
    expect(codes.get('key_missing')).to.be.lessThan(tampered / 20);
  });
}

import { expect } from 'chai';
import { createKeyAdmin, type KeyAdmin } from '../../gateway/keys/admin.js';
import { signUrl } from '../../gateway/signing/sign-url.js';
import { createSigningSecrets } from '../../gateway/signing/signing-secrets.js';
import { until } from '../until.js';
import { createPostgresDatabase, onEachDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { startTestGateway, type TestGateway } from './harness.js';

const [earlier, later] = ['before-'.repeat(6), 'afterwards-'.repeat(4)];
const exp = 4_000_000_000;

describe('gateways that take signed urls', () =>
  onEachDatabase((database) => {
    let open: TestGateway[];
    let admin: KeyAdmin;
    let kid: string;

    beforeEach(async () => {
      open = [];
      const store = await database().open();
      const signing = createSigningSecrets([earlier]);
      admin = createKeyAdmin({ store, signing, services: () => [] });
      await admin.createTenant('acme', 'ann');
      kid = (await admin.issueKey('acme', {}, 'ann')).id;
    });
    afterEach(async () => {
      for (const gateway of open) await gateway.close();
    });

    async function start(masters: string): Promise<TestGateway> {
      const gateway = await startTestGateway({ ...address(database()), HELPER_SIGNING_SECRET: masters });
      open.push(gateway);
      return gateway;
    }
    const signed = (secret: string) =>
      signUrl({ url: '/text/remove-stopwords?text=the+cat', kid, secret, exp });
    const codeAt = async (gateway: TestGateway, url: string) => {
      const { json } = await gateway.call(url, { key: null });
      return json.ok ? 'ok' : json.error.code;
    };

    it('change their master secret without a broken page', async () => {
      const [old, both, only] = [
        await start(earlier),
        await start(`${later},${earlier}`),
        await start(later),
      ];
      const byOld = signed(createSigningSecrets([earlier]).current(kid, 1));
      const byNew = signed(createSigningSecrets([later, earlier]).current(kid, 1));
      const codes = (url: string) => Promise.all([old, both, only].map((gateway) => codeAt(gateway, url)));
      expect(await codes(byOld)).to.deep.equal(['ok', 'ok', 'signature_invalid']);
      expect(await codes(byNew)).to.deep.equal(['signature_invalid', 'ok', 'ok']);
    });

    it('refuse all that was signed once the secret is replaced, and take the new one at once', async () => {
      const gateways = [await start(earlier), await start(earlier)];
      const codes = (url: string) => Promise.all(gateways.map((gateway) => codeAt(gateway, url)));
      const first = signed((await admin.signingSecret(kid, 'ann')).signing_secret);
      expect(await codes(first)).to.deep.equal(['ok', 'ok']);
      const { key } = await admin.rotateKey(kid, { grace_seconds: 0 }, 'ann');
      await until(
        async () => (await gateways[0]?.call('/text/remove-stopwords?text=a', { key }))?.status === 200,
      );
      expect(await codes(first)).to.deep.equal(['ok', 'ok']);
      const second = signed((await admin.rotateSigning(kid, 'ann')).signing_secret);
      expect(await codes(second)).to.deep.equal(['ok', 'ok']);
      await until(async () => String(await codes(first)) === 'signature_invalid,signature_invalid');
      await admin.revokeKey(kid, 'ann');
      await until(async () => String(await codes(second)) === 'key_revoked,key_revoked');
    });
  }));

describe('a gateway with PostgreSQL and without a master secret', () => {
  let database: TestDatabase;
  let gateway: TestGateway;
  before(async function () {
    await requirePostgres.call(this);
    database = await createPostgresDatabase();
    gateway = await startTestGateway(address(database));
  });
  after(async () => {
    await gateway?.close();
    await database?.drop();
  });

  it('serves keys', async () => {
    expect((await gateway.call('/text/remove-stopwords?text=a')).status).to.equal(200);
  });

  it('names the variable to who calls with a signature, and tells no key from another', async () => {
    for (const kid of [gateway.gateway.firstKey?.id ?? '', 'key_nobody']) {
      const secret = createSigningSecrets([earlier]).current(kid, 1);
      const url = signUrl({ url: '/text/remove-stopwords?text=a', kid, secret, exp });
      const { status, json } = await gateway.call(url, { key: null });
      expect([status, json.error.code]).to.deep.equal([503, 'storage_unavailable']);
      expect(json.error.message).to.include('HELPER_SIGNING_SECRET');
    }
  });
});

function address({ kind, location }: TestDatabase): Record<string, string> {
  return kind === 'sqlite' ? { HELPER_DATA_DIR: location } : { DATABASE_URL: location };
}

import { expect } from 'chai';
import { createKeyAdmin, type KeyAdmin } from '../../gateway/keys/admin.js';
import { signUrl } from '../../gateway/signing/signed-url.js';
import { createSigningSecrets } from '../../gateway/signing/signing-secrets.js';
import { until } from '../needs.js';
import { createPostgresDatabase, onEachDatabase, requirePostgres, type TestDatabase } from './databases.js';
import { startTestGateway, type TestGateway } from './harness.js';
import { compileRecipe } from './keys/recipe-compiler.js';

const [earlier, later] = ['before-'.repeat(6), 'afterwards-'.repeat(4)];
const exp = 4_000_000_000;

describe('gateways that accept signed urls', () =>
  onEachDatabase((database) => {
    let open: TestGateway[];
    let admin: KeyAdmin;
    let kid: string;

    beforeEach(async () => {
      open = [];
      const store = await database().open();
      const signing = createSigningSecrets([earlier]);
      admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [] });
      await admin.createTenant('acme', 'ann');
      kid = (await admin.issueKey('acme', {}, 'ann')).id;
    });
    afterEach(async () => {
      for (const gateway of open) await gateway.close();
    });

    async function start(...masters: string[]): Promise<void> {
      for (const each of masters)
        open.push(await startTestGateway({ ...address(database()), HELPER_SIGNING_SECRET: each }));
    }
    const signed = (secret: string) =>
      signUrl({ url: '/text/remove-stopwords?text=the+cat', kid, secret, exp });
    /** What each gateway that is open answers. */
    const codes = async (url: string) => {
      const answers = await Promise.all(open.map((gateway) => gateway.call(url, { key: null })));
      return answers.map(({ json }) => json.error?.code ?? 'ok').join();
    };

    it('change their master secret without a broken page', async () => {
      await start(earlier, `${later},${earlier}`, later);
      const byOld = signed(createSigningSecrets([earlier]).current(kid, 1));
      const byNew = signed(createSigningSecrets([later, earlier]).current(kid, 1));
      expect(await codes(byOld)).to.equal('ok,ok,signature_invalid');
      expect(await codes(byNew)).to.equal('signature_invalid,ok,ok');
    });

    it('refuse all that was signed once the secret is replaced, and accept the new one at once', async () => {
      await start(earlier, earlier);
      const first = signed((await admin.signingSecret(kid, 'ann')).signing_secret);
      expect(await codes(first)).to.equal('ok,ok');
      const { key } = await admin.rotateKey(kid, { grace_seconds: 0 }, 'ann');
      await until(
        async () => (await open[0]?.call('/text/remove-stopwords?text=a', { key }))?.status === 200,
      );
      expect(await codes(first)).to.equal('ok,ok');
      const second = signed((await admin.rotateSigning(kid, 'ann')).signing_secret);
      expect(await codes(second)).to.equal('ok,ok');
      await until(async () => (await codes(first)) === 'signature_invalid,signature_invalid');
      await admin.revokeKey(kid, 'ann');
      await until(async () => (await codes(second)) === 'key_revoked,key_revoked');
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

  it('serves keys, and names the variable to callers with a signature, whichever key they name', async () => {
    expect((await gateway.call('/text/remove-stopwords?text=a')).status).to.equal(200);
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

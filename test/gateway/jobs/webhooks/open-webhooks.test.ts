import { expect } from 'chai';
import { pino } from 'pino';
import { Closers } from '../../../../gateway/closers.js';
import { openWebhooks } from '../../../../gateway/jobs/webhooks/open-webhooks.js';
import type { SenderTables } from '../../../../gateway/jobs/webhooks/tables.js';
import { createSigningSecrets } from '../../../../gateway/signing/signing-secrets.js';
import { createSqliteDatabase, type TestDatabase } from '../../databases.js';
import { signing } from '../../signing/signing.js';

describe('jobs/webhooks/open-webhooks', () => {
  let database: TestDatabase;
  let closers: Closers;
  beforeEach(async () => {
    database = await createSqliteDatabase();
    closers = new Closers();
  });
  afterEach(async () => {
    await closers.close();
    await database.drop();
  });
  const open = async (secrets = signing.webhooks) =>
    openWebhooks({
      config: { webhookOrigins: ['http://127.0.0.1:9100'], sourceTimeoutMs: 1000 },
      access: (await database.connect()).access<SenderTables>(),
      secrets,
      logger: pino({ level: 'silent' }),
      closers,
    });

  it('judges a url by the guard, on the field that held it', async () => {
    const { check } = await open();
    expect(check('https://example.com/hook', 'webhook.url').href).to.equal('https://example.com/hook');
    expect(check('http://127.0.0.1:9100/hook', 'webhook.url').href).to.equal('http://127.0.0.1:9100/hook');
    expect(() => check('https://10.0.0.1/', 'webhook.url'))
      .to.throw()
      .with.property('code', 'source_refused');
    expect(() => check('hook', 'webhook.url'))
      .to.throw()
      .with.nested.property('details[0].field', 'webhook.url');
  });

  it('refuses every url where nothing could be signed, naming what is missing', async () => {
    const { check, wake } = await open(createSigningSecrets(undefined).webhooks);
    expect(() => check('https://example.com/hook', 'webhook.url'))
      .to.throw('HELPER_SIGNING_SECRET')
      .with.property('code', 'storage_unavailable');
    wake();
  });
});

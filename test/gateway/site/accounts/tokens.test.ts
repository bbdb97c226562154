import { expect } from 'chai';
import type { KeyStore } from '../../../../gateway/keys/store.js';
import { createFirstOperator, firstOperatorEmail } from '../../../../gateway/site/accounts/account.js';
import { createTokens } from '../../../../gateway/site/accounts/tokens.js';
import { onEachDatabase } from '../../databases.js';
import { createTestMembers, goodPassword, operatorNamed } from '../members.js';
import { type OpenedSiteDatabase, openConnectDatabase } from '../test-site.js';

describe('site/accounts: API tokens', () => {
  onEachDatabase((database) => {
    let store: KeyStore;
    let connect: OpenedSiteDatabase;
    let now: number;
    beforeEach(async () => {
      store = await database().open();
      connect = await openConnectDatabase(database());
      now = Date.parse('2030-01-01');
    });
    afterEach(() => connect.close());
    const tokens = () => createTokens(connect, () => now);

    it('open the API as what they are, until they expire or are revoked', async () => {
      const expires_at = '2030-01-02T00:00:00Z';
      const lasting = await tokens().create({ label: 'billing', role: 'operator' }, 'cli:root');
      const { token } = await tokens().create({ label: 'grafana', role: 'support', expires_at }, 'cli:root');
      expect(token).to.match(/^hgt_[0-9A-Za-z]{32}$/);
      expect(await tokens().find(token)).to.deep.equal({ actor: 'token:grafana', role: 'support' });
      now = Date.parse(expires_at);
      expect(await tokens().find(token)).to.equal(undefined);
      await tokens().revoke(lasting.id, 'cli:root');
      expect(await tokens().find(lasting.token)).to.equal(undefined);
      for (const wrong of ['', 'hgt_', `${token}x`, `hgt_${'a'.repeat(32)}`])
        expect(await tokens().find(wrong)).to.equal(undefined);
      const { code } = await tokens()
        .revoke(lasting.id, 'cli:root')
        .catch((error) => error);
      expect(code).to.equal('not_found');
    });

    it('are stored as a hash, have a label of their own and are audited', async () => {
      const { id, token } = await tokens().create({ label: 'billing', role: 'support' }, 'cli:root');
      const rows = await connect.run((db) => db.selectFrom('connect_tokens').selectAll().execute());
      expect(JSON.stringify(rows)).not.to.include(token);
      const twice = tokens().create({ label: 'billing', role: 'operator' }, 'cli:root');
      expect((await twice.catch((error) => error)).code).to.equal('exists');
      await tokens().revoke(id, 'cli:root');
      const entries = await store.audit({ limit: 10 });
      expect(entries.map(({ actor, action, detail }) => [actor, action, detail.label])).to.deep.equal([
        ['cli:root', 'token.revoke', 'billing'],
        ['cli:root', 'token.create', 'billing'],
      ]);
      expect(JSON.stringify(entries)).not.to.include(token);
    });

    it('note their last use once a minute', async () => {
      const { token } = await tokens().create({ label: 'billing', role: 'support' }, 'cli:root');
      async function lastUse(after: number): Promise<string | null | undefined> {
        now += after;
        await tokens().find(token);
        // The look-up does not wait for the note.
        await new Promise((resolve) => setTimeout(resolve, 30));
        return (await tokens().list())[0]?.last_used_at;
      }
      expect(await lastUse(0)).to.equal('2030-01-01T00:00:00.000Z');
      expect(await lastUse(59_000)).to.equal('2030-01-01T00:00:00.000Z');
      expect(await lastUse(1_000)).to.equal('2030-01-01T00:01:00.000Z');
    });

    it('are made by somebody who is an operator still', async () => {
      await createFirstOperator(connect);
      const first = await operatorNamed(connect, firstOperatorEmail);
      const members = createTestMembers(connect);
      const { token } = await members.invite(null, { note: 'Ada', role: 'support' }, first);
      await members.joinAs(
        token,
        { email: 'ada@example.com', name: '', password: goodPassword },
        '192.0.2.1',
      );
      const ada = await operatorNamed(connect, 'ada@example.com');
      const refused = await tokens()
        .create({ label: 'mine', role: 'operator' }, ada)
        .catch((error) => error);
      expect(refused.code).to.equal('forbidden');
    });
  });
});

import { expect } from 'chai';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { type OpenedStore, onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';

describe('keys/admin, of signing', () =>
  onEachDatabase((database) => {
    let store: OpenedStore;
    let admin: KeyAdmin;
    let now: number;
    beforeEach(async () => {
      now = Date.UTC(2030, 0, 1);
      store = await database().open();
      admin = createKeyAdmin({ store, signing, services: () => ['text/a', 'media/b'], now: () => now });
      await admin.createTenant('acme', 'ann');
    });

    it('shows the secret with the key, and again on request, which is noted', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      expect(signing_secret).to.match(/^hgs_/);
      expect(await admin.signingSecret(id, 'bob')).to.deep.equal({ id, signing_secret });
      const [entry] = (await admin.audit({ key: id })).entries;
      expect(entry).to.deep.include({ actor: 'bob', action: 'key.signing_secret', detail: {} });
    });

    it('keeps nothing of it: the database alone forges nothing', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      const again = await admin.rotateSigning(id, 'ann');
      const everything = JSON.stringify([await store.key(id), await store.audit({ limit: 100 })]);
      for (const secret of [signing_secret as string, again.signing_secret])
        expect(everything).not.to.include(secret.slice(4, 20));
      expect(everything).to.include('"signing_version":2');
    });

    it('replaces it for good, and leaves the key as it is', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      const key = await admin.key(id);
      const second = await admin.rotateSigning(id, 'bob');
      const third = await admin.rotateSigning(id, 'bob');
      expect(new Set([signing_secret, second.signing_secret, third.signing_secret]).size).to.equal(3);
      expect((await admin.signingSecret(id, 'ann')).signing_secret).to.equal(third.signing_secret);
      expect(await admin.key(id)).to.deep.equal(key);
      const details = (await admin.audit({ key: id })).entries.filter(
        ({ action }) => action === 'key.rotate_signing',
      );
      expect(details.map(({ detail }) => detail)).to.deep.equal([
        { signing_version: 3 },
        { signing_version: 2 },
      ]);
    });

    it('repeats no secret that is given in place of an id', async () => {
      const { key, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      for (const secret of [key, signing_secret as string]) {
        const error = await rejection(admin.rotateSigning(secret, 'ann'));
        expect(String(error)).to.include('key_').and.not.include(secret.slice(0, 12));
      }
    });

    it('keeps it through a rotation of the key', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      await admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
      expect((await admin.signingSecret(id, 'ann')).signing_secret).to.equal(signing_secret);
    });

    it('has none of a key that is dead or not there', async () => {
      const { id } = await admin.issueKey('acme', { expires_at: '2030-01-02' }, 'ann');
      now += 86_400_000;
      const ways = [
        (of: string) => admin.signingSecret(of, 'ann'),
        (of: string) => admin.rotateSigning(of, 'ann'),
        (of: string) => admin.signUrl(of, { url: '/text/a', service: 'text/a', exp: 1 }),
      ];
      for (const way of ways) {
        expect(await rejection(way(id))).to.have.nested.property('details[0].field', 'id');
        for (const none of ['key_none', 'a\u0000', ''])
          expect(await rejection(way(none))).to.include({ code: 'not_found' });
      }
    });

    it('signs what the key may call, and notes nothing', async () => {
      const { id } = await admin.issueKey('acme', { scopes: ['text/*'] }, 'ann');
      const url = await admin.signUrl(id, { url: '/text/a?b=c', service: 'text/a', exp: 1_900_000_000 });
      expect(url).to.match(new RegExp(`^/text/a\\?b=c&kid=${id}&exp=1900000000&sig=[\\w-]{43}$`));
      const refused = await rejection(admin.signUrl(id, { url: '/media/b', service: 'media/b', exp: 1.9e9 }));
      expect(refused).to.have.nested.property('details[0].problem').that.includes('may call text/*');
      expect((await admin.audit({ key: id })).entries).to.have.length(1);
    });

    it('signs for a year at most', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      const year = now / 1000 + 366 * 86_400;
      const sign = (exp: number) => admin.signUrl(id, { url: '/text/a', service: 'text/a', exp });
      expect(await sign(year)).to.include(`exp=${year}`);
      for (const exp of [year + 1, 4e9, 9e15]) {
        const refused = await rejection(sign(exp));
        expect(refused).to.have.nested.property('details[0].field', 'expires_at');
        expect(refused).to.have.nested.property('details[0].problem').that.includes('366 days at most');
      }
    });

    it('issues keys without a master too, and names the variable for all else', async () => {
      const none = createKeyAdmin({ store, signing: createSigningSecrets(undefined), services: () => [] });
      const { id, signing_secret } = await none.issueKey('acme', {}, 'ann');
      expect(signing_secret).to.equal(null);
      for (const way of [
        none.signingSecret(id, 'ann'),
        none.rotateSigning(id, 'ann'),
        none.signUrl(id, { url: '/a', service: 'a', exp: 1 }),
      ]) {
        const error = (await rejection(way)) as Error;
        expect(error).to.include({ code: 'storage_unavailable' });
        expect(error.message).to.include('HELPER_SIGNING_SECRET');
      }
      expect((await store.key(id))?.signing_version).to.equal(1);
    });
  }));

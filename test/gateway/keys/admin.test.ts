import { expect } from 'chai';

import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { hashSecret } from '../../../gateway/keys/hash-secret.js';
import { parseKey } from '../../../gateway/keys/key-format.js';
import type { KeyStore } from '../../../gateway/keys/store.js';
import { onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';

const services = ['text/diff-two-strings', 'text/remove-stopwords', 'media/add-border'];
const startTime = Date.UTC(2030, 0, 1);
const hour = 3_600_000;

describe('keys/admin', () =>
  onEachDatabase((database) => {
    let store: KeyStore;
    let admin: KeyAdmin;
    let now: number;

    beforeEach(async () => {
      now = startTime;
      store = await database().open();
      admin = createKeyAdmin({ store, signing, services: () => services, now: () => now });
      await admin.createTenant('acme', 'ann');
    });

    async function problems(work: Promise<unknown>): Promise<Record<string, string>> {
      const error = (await rejection(work)) as {
        code: string;
        details: { field: string; problem: string }[];
      };
      expect(error.code).to.equal('invalid_input');
      return Object.fromEntries(error.details.map(({ field, problem }) => [field, problem]));
    }

    async function code(work: Promise<unknown>): Promise<unknown> {
      return ((await rejection(work)) as { code: unknown }).code;
    }

    it('creates tenants and lists them by name, in pages', async () => {
      for (const name of ['zeta', '0-day', 'beta']) await admin.createTenant(name, 'ann');
      const first = await admin.listTenants({ limit: 3 });
      expect(first.tenants.map((tenant) => tenant.name)).to.deep.equal(['0-day', 'acme', 'beta']);
      const second = await admin.listTenants({ limit: 3, after: first.next as string });
      expect(second.tenants.map((tenant) => tenant.name)).to.deep.equal(['zeta']);
      expect(second.next).to.equal(null);
      expect(await admin.tenant('acme')).to.deep.include({
        name: 'acme',
        created_at: '2030-01-01T00:00:00.000Z',
      });
    });

    it('says exists for a name that is taken, and why a name cannot be one', async () => {
      expect(await code(admin.createTenant('acme', 'ann'))).to.equal('exists');
      for (const name of ['', 'Acme', '-a', 'a_b', 'ä', 'a'.repeat(64), 7, null, undefined, {}, 'a\n']) {
        expect(await problems(admin.createTenant(name as string, 'ann'))).to.have.keys('name');
      }
      await admin.createTenant('a'.repeat(63), 'ann');
    });

    it('issues a key and keeps nothing that leads back to it', async () => {
      const issued = await admin.issueKey('acme', { label: 'ci', scopes: ['text/*'] }, 'ann');
      expect(parseKey(issued.key)).to.include({ hash: hashSecret(issued.key) });
      const listed = (await admin.listKeys('acme')).keys[0];
      const hint = `${issued.key.slice(0, 7)}…${issued.key.slice(-4)}`;
      expect(listed).to.deep.include({
        id: issued.id,
        label: 'ci',
        scopes: ['text/*'],
        state: 'active',
        hint,
      });
      const everything = JSON.stringify([
        await store.audit({ limit: 100 }),
        await store.key(issued.id),
        await admin.listKeys('acme'),
      ]);
      expect(everything).not.to.include(issued.key);
      expect(everything).not.to.include(issued.key.slice(3, 30));
    });

    it('names every wrong field of an issue at once', async () => {
      const wrong = { label: '', scopes: ['text/remove-stopword'], expires_at: '2029-12-31' };
      const found = await problems(admin.issueKey('acme', wrong, 'ann'));
      expect(found).to.have.keys('label', 'scopes', 'expires_at');
      expect(found.scopes).to.include('"text/remove-stopword"').and.include('"text/remove-stopwords"');
      for (const scopes of [[], 'text/*', [7], ['*'], Array(101).fill('text/*')]) {
        expect(await problems(admin.issueKey('acme', { scopes: scopes as string[] }, 'ann'))).to.have.keys(
          'scopes',
        );
      }
      for (const label of ['a'.repeat(101), 'a\u0000b', 'a\u202eb', 'a\ud800', 'a\u2028b', 7]) {
        expect(await problems(admin.issueKey('acme', { label: label as string }, 'ann'))).to.have.keys(
          'label',
        );
      }
      expect((await admin.listKeys('acme')).keys).to.deep.equal([]);
    });

    it('says what is wrong without text that would turn its own', async () => {
      const found = await problems(admin.issueKey('acme', { label: 'a\u202eb' }, 'ann'));
      expect(found.label).to.include('a\\u{202e}b');
    });

    it('says not_found for what is not there, whatever was asked', async () => {
      for (const name of ['nobody', 'Not A Name', 'a\u0000b', '']) {
        expect(await code(admin.issueKey(name, {}, 'ann'))).to.equal('not_found');
        expect(await code(admin.listKeys(name))).to.equal('not_found');
        expect(await code(admin.setLimits(name, {}, 'ann'))).to.equal('not_found');
      }
      for (const id of ['key_none', 'key_\u0000', '', `key_${'a'.repeat(500)}`]) {
        expect(await code(admin.rotateKey(id, {}, 'ann'))).to.equal('not_found');
        expect(await code(admin.revokeKey(id, 'ann'))).to.equal('not_found');
        expect(await code(admin.endGrace(id, 'ann'))).to.equal('not_found');
      }
    });

    it('tells who gives a key for its id what was meant, without repeating it', async () => {
      const { key } = await admin.issueKey('acme', {}, 'ann');
      const error = (await rejection(admin.revokeKey(key, 'ann'))) as Error;
      expect(error.message).to.include('id').and.not.include(key);
    });

    it('rotates with a grace of a day unless told otherwise', async () => {
      const { id, key } = await admin.issueKey('acme', {}, 'ann');
      now += hour;
      const rotated = await admin.rotateKey(id, {}, 'ann');
      expect(rotated.id).to.equal(id);
      expect(rotated.key).not.to.equal(key);
      expect(rotated.previous_expires_at).to.equal('2030-01-02T01:00:00.000Z');
      const listed = (await admin.listKeys('acme')).keys[0];
      expect(listed?.secrets.map((secret) => secret.expires_at)).to.deep.equal([
        null,
        '2030-01-02T01:00:00.000Z',
      ]);
      now += 24 * hour;
      expect((await admin.listKeys('acme')).keys[0]?.secrets).to.have.length(1);
    });

    it('keeps the ends of older secrets when it rotates again', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      await admin.rotateKey(id, { grace_seconds: 7200 }, 'ann');
      await admin.rotateKey(id, { grace_seconds: 60 }, 'ann');
      const ends = (await admin.listKeys('acme')).keys[0]?.secrets.map((secret) => secret.expires_at);
      expect(ends).to.have.members([null, '2030-01-01T02:00:00.000Z', '2030-01-01T00:01:00.000Z']);
    });

    it('ends every older secret with no grace, whatever the clock does later', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      await admin.rotateKey(id, { grace_seconds: 7200 }, 'ann');
      const rotated = await admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
      expect(rotated.previous_expires_at).to.equal('2030-01-01T00:00:00.000Z');
      now -= 10 * hour;
      expect((await admin.listKeys('acme')).keys[0]?.secrets).to.have.length(1);
    });

    it('never lets a grace pass the key’s own end', async () => {
      const { id } = await admin.issueKey('acme', { expires_at: '2030-01-01T06:00Z' }, 'ann');
      const rotated = await admin.rotateKey(id, {}, 'ann');
      expect(rotated.previous_expires_at).to.equal('2030-01-01T06:00:00.000Z');
    });

    it('refuses a grace that is no whole number of seconds up to 90 days', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      for (const grace_seconds of [-1, 1.5, 7_776_001, Number.NaN, '60', {}]) {
        const wrong = { grace_seconds: grace_seconds as number };
        expect(await problems(admin.rotateKey(id, wrong, 'ann'))).to.have.keys('grace_seconds');
      }
      await admin.rotateKey(id, { grace_seconds: 7_776_000 }, 'ann');
    });

    it('does not rotate a key that was revoked or has expired', async () => {
      const revoked = await admin.issueKey('acme', {}, 'ann');
      await admin.revokeKey(revoked.id, 'ann');
      expect((await problems(admin.rotateKey(revoked.id, {}, 'ann'))).id).to.include('revoked');
      const expiring = await admin.issueKey('acme', { expires_at: '2030-01-01T01:00Z' }, 'ann');
      now += hour;
      expect((await problems(admin.rotateKey(expiring.id, {}, 'ann'))).id).to.include('expired');
      const states = (await admin.listKeys('acme')).keys.map((key) => key.state);
      expect(states).to.have.members(['revoked', 'expired']);
    });

    it('ends a grace by hand', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      await admin.rotateKey(id, {}, 'ann');
      expect((await admin.endGrace(id, 'ann')).secrets).to.have.length(1);
      expect((await admin.endGrace(id, 'ann')).secrets).to.have.length(1);
      expect((await admin.audit({ key: id })).entries.map((entry) => entry.action)).to.deep.equal([
        'key.end_grace',
        'key.rotate',
        'key.issue',
      ]);
    });

    it('revokes once, and a second time changes nothing', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      const first = await admin.revokeKey(id, 'ann');
      now += hour;
      const second = await admin.revokeKey(id, 'bob');
      expect(second).to.deep.equal(first);
      expect(second).to.include({ state: 'revoked', revoked_at: '2030-01-01T00:00:00.000Z' });
      expect((await admin.audit({ key: id })).entries).to.have.length(2);
    });

    it('sets limits one by one, and back to the default', async () => {
      await admin.setLimits('acme', { rate: 2, monthly_quota: 1000, weight: 4 }, 'ann');
      const changed = await admin.setLimits('acme', { rate: null, in_flight: 3 }, 'ann');
      expect(changed.limits).to.deep.equal({ rate: null, burst: null, monthly_quota: 1000, in_flight: 3 });
      expect(await admin.tenant('acme')).to.deep.equal(changed);
      expect(changed.weight).to.equal(4);
      const wrong = { rate: 2.5, burst: 0.5, monthly_quota: '9', in_flight: 0, weight: 101 };
      expect(await problems(admin.setLimits('acme', wrong as object, 'ann'))).to.have.keys(
        Object.keys(wrong),
      );
    });

    it('logs who did what, newest first, in pages', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      await admin.revokeKey(id, 'bob');
      const { entries, next } = await admin.audit({ tenant: 'acme', limit: 2 });
      expect(entries.map(({ actor, action }) => [actor, action])).to.deep.equal([
        ['bob', 'key.revoke'],
        ['ann', 'key.issue'],
      ]);
      const rest = await admin.audit({ tenant: 'acme', limit: 2, before: next as number });
      expect(rest.entries.map((entry) => entry.action)).to.deep.equal(['tenant.create']);
      expect(rest.next).to.equal(null);
    });

    it('pages keys, oldest first', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) {
        now += 1;
        ids.push((await admin.issueKey('acme', {}, 'ann')).id);
      }
      const first = await admin.listKeys('acme', { limit: 2 });
      const second = await admin.listKeys('acme', { limit: 2, after: first.next as string });
      expect([...first.keys, ...second.keys].map((key) => key.id)).to.deep.equal(ids);
      expect(await problems(admin.listKeys('acme', { after: 'a\u0000' }))).to.have.keys('after');
    });
  }));

import { expect } from 'chai';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { createFirstTenant } from '../../../gateway/keys/key-changes.js';
import { hashSecret, parseKey } from '../../../gateway/keys/model.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { type OpenedStore, onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';

const services = ['text/diff-two-strings', 'text/remove-stopwords', 'media/add-border'];
const startTime = Date.UTC(2030, 0, 1);
const hour = 3_600_000;

describe('keys/admin', () =>
  onEachDatabase((database) => {
    let store: OpenedStore;
    let admin: KeyAdmin;
    let now: number;
    let tenantId: string;

    beforeEach(async () => {
      now = startTime;
      store = await database().open();
      admin = createKeyAdmin({ store, signing, services: () => services, now: () => now });
      ({ id: tenantId } = await admin.createTenant('acme', 'ann'));
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

    it('shows the signing secret with the key, and again on request, which is noted', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      expect(signing_secret).to.match(/^hgs_/);
      expect(await admin.signingSecret(id, 'bob')).to.deep.equal({ id, signing_secret });
      const [entry] = (await admin.audit({ key: id })).entries;
      expect(entry).to.deep.include({ actor: 'bob', action: 'key.signing_secret', detail: {} });
    });

    it('stores nothing of a signing secret: the database alone forges nothing', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      const again = await admin.rotateSigning(id, 'ann');
      const everything = JSON.stringify([await store.key(id), await store.audit({ limit: 100 })]);
      for (const secret of [signing_secret as string, again.signing_secret])
        expect(everything).not.to.include(secret.slice(4, 20));
      expect(everything).to.include('"signing_version":2');
    });

    it('replaces a signing secret for good, and leaves the key as it is', async () => {
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

    it('keeps the signing secret through a rotation of the key', async () => {
      const { id, signing_secret } = await admin.issueKey('acme', {}, 'ann');
      await admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
      expect((await admin.signingSecret(id, 'ann')).signing_secret).to.equal(signing_secret);
    });

    it('has no signing secret of a key that is dead or not there', async () => {
      const { id } = await admin.issueKey('acme', { expires_at: '2030-01-02' }, 'ann');
      now += 86_400_000;
      const ways = [
        (of: string) => admin.signingSecret(of, 'ann'),
        (of: string) => admin.rotateSigning(of, 'ann'),
        (of: string) =>
          admin.signUrl(of, { url: '/text/remove-stopwords', service: 'text/remove-stopwords', exp: 1 }),
      ];
      for (const way of ways) {
        expect(await rejection(way(id))).to.have.nested.property('details[0].field', 'id');
        for (const none of ['key_none', 'a\u0000', ''])
          expect(await rejection(way(none))).to.include({ code: 'not_found' });
      }
    });

    it('signs what the key may call, and notes nothing', async () => {
      const { id } = await admin.issueKey('acme', { scopes: ['text/*'] }, 'ann');
      const url = await admin.signUrl(id, {
        url: '/text/remove-stopwords?b=c',
        service: 'text/remove-stopwords',
        exp: 1_900_000_000,
      });
      expect(url).to.match(
        new RegExp(`^/text/remove-stopwords\\?b=c&kid=${id}&exp=1900000000&sig=[\\w-]{43}$`),
      );
      const refused = await rejection(
        admin.signUrl(id, { url: '/media/add-border', service: 'media/add-border', exp: 1.9e9 }),
      );
      expect(refused).to.have.nested.property('details[0].problem').that.includes('may call text/*');
      expect((await admin.audit({ key: id })).entries).to.have.length(1);
    });

    it('signs for a year at most', async () => {
      const { id } = await admin.issueKey('acme', {}, 'ann');
      const year = now / 1000 + 366 * 86_400;
      const sign = (exp: number) =>
        admin.signUrl(id, { url: '/text/remove-stopwords', service: 'text/remove-stopwords', exp });
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

    const actions = async () =>
      (await admin.audit()).entries.map(({ actor, action, detail }) => [actor, action, detail]);

    it('shows the webhook secret, which is noted', async () => {
      expect(await admin.webhookSecret('acme', 'bob')).to.deep.equal({
        tenant: 'acme',
        webhook_secret: signing.webhooks.current(tenantId, 1),
        previous_until: null,
      });
      expect((await actions())[0]).to.deep.equal(['bob', 'tenant.webhook_secret', {}]);
    });

    it('shows the webhook secret with the tenant, which is not noted, and never in a list', async () => {
      const tenant = await admin.tenantWithSecret('acme');
      expect(tenant).to.deep.equal({
        ...(await admin.tenant('acme')),
        webhook_secret: signing.webhooks.current(tenantId, 1),
      });
      expect(await actions()).to.have.length(1);
      const others = [await admin.listTenants(), await admin.setLimits('acme', { rate: 1 }, 'ann')];
      expect(JSON.stringify(others)).not.to.match(/webhook|whsec_/);
    });

    it('replaces the webhook secret, and says until when the one before signs as well', async () => {
      expect(await admin.rotateWebhookSecret('acme', 'bob')).to.deep.equal({
        tenant: 'acme',
        webhook_secret: signing.webhooks.current(tenantId, 2),
        previous_until: new Date(now + 24 * hour).toISOString(),
      });
      expect(await store.tenant('acme')).to.include({ webhook_version: 2, webhook_rotated_at: now });
      expect((await actions())[0]).to.deep.equal([
        'bob',
        'tenant.rotate_webhook_secret',
        { webhook_version: 2 },
      ]);
      now += 24 * hour - 1;
      expect((await admin.webhookSecret('acme', 'bob')).previous_until).to.be.a('string');
      now += 1;
      expect((await admin.webhookSecret('acme', 'bob')).previous_until).to.equal(null);
    });

    it('stores nothing of a webhook secret: the database alone forges nothing', async () => {
      const { webhook_secret } = await admin.rotateWebhookSecret('acme', 'bob');
      const everything = JSON.stringify([await store.tenant('acme'), await store.audit({ limit: 100 })]);
      expect(everything).not.to.include(webhook_secret.slice(6, 20));
    });

    it('has no webhook secret of a tenant that is not there', async () => {
      for (const way of [
        admin.webhookSecret('globex', 'ann'),
        admin.rotateWebhookSecret('globex', 'ann'),
        admin.tenantWithSecret('globex'),
      ])
        expect(await rejection(way)).to.include({ code: 'not_found' });
    });

    it('names the variable for webhooks too, and shows the tenant all the same', async () => {
      const none = createKeyAdmin({ store, signing: createSigningSecrets(undefined), services: () => [] });
      for (const way of [none.webhookSecret('acme', 'ann'), none.rotateWebhookSecret('acme', 'ann')]) {
        const error = (await rejection(way)) as Error;
        expect(error).to.include({ code: 'storage_unavailable' });
        expect(error.message).to.include('HELPER_SIGNING_SECRET');
      }
      const shown = await none.tenantWithSecret('acme');
      expect(shown).to.include({ name: 'acme', webhook_secret: null });
      expect(shown).to.have.property('webhook_hint').that.includes('HELPER_SIGNING_SECRET');
      expect(await actions()).to.have.length(1);
    });
  }));

describe('keys/first-start', () =>
  onEachDatabase(
    (database) => {
      it('makes demo and one key of it', async () => {
        const store = await database().open();
        const first = await createFirstTenant(store);
        expect(first?.tenant).to.equal('demo');
        const [found] = await store.find([hashSecret(first?.key ?? '')]);
        expect(found).to.have.nested.property('tenant.name', 'demo');
        expect(found?.key.scopes).to.equal(null);
      });

      it('does nothing where there is a tenant', async () => {
        const store = await database().open();
        await createFirstTenant(store);
        expect(await createFirstTenant(store)).to.equal(undefined);
        expect(await store.tenants({ limit: 9 })).to.have.length(1);
      });

      it('makes one key, however many gateways start at once', async () => {
        const made = await Promise.all(
          Array.from({ length: 4 }, async () => createFirstTenant(await database().open())),
        );
        expect(made.filter(Boolean)).to.have.length(1);
      });
    },
    { fresh: true },
  ));

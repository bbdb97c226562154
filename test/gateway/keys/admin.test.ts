import { expect } from 'chai';
import type { GatewayError } from '../../../gateway/errors.js';
import { createFirstTenant, createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { hashSecret, noLimits, parseKey } from '../../../gateway/keys/model.js';
import { findTenant } from '../../../gateway/keys/tenant-changes.js';
import { createSigningSecrets } from '../../../gateway/signing/signing-secrets.js';
import { type OpenedStore, onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { byName, rejection } from './key-store-contract.js';
import { compileRecipe } from './recipe-compiler.js';

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
      admin = createKeyAdmin({ store, signing, compileRecipe, services: () => services, now: () => now });
      ({ id: tenantId } = await admin.createTenant('acme', 'ann'));
    });

    async function problems(work: Promise<unknown>): Promise<Record<string, string>> {
      const error = (await rejection(work)) as GatewayError;
      expect(error.code).to.equal('invalid_input');
      return Object.fromEntries((error.details ?? []).map(({ field, problem }) => [field, problem]));
    }
    const code = async (work: Promise<unknown>) => ((await rejection(work)) as GatewayError).code;
    const issue = (fields: object = {}) => admin.issueKey('acme', fields, 'ann');
    const theKey = async () => (await admin.listKeys('acme')).keys[0];
    const ends = async () => (await theKey())?.secrets.map((secret) => secret.expires_at);
    const actions = async () =>
      (await admin.audit()).entries.map(({ actor, action, detail }) => [actor, action, detail]);

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
      const issued = await issue({ label: 'ci', scopes: ['text/*'] });
      expect(parseKey(issued.key)).to.include({ hash: hashSecret(issued.key) });
      const hint = `${issued.key.slice(0, 7)}…${issued.key.slice(-4)}`;
      const shown = { id: issued.id, label: 'ci', scopes: ['text/*'], state: 'active', hint };
      expect(await theKey()).to.deep.include(shown);
      const all = [await store.audit({ limit: 100 }), await store.key(issued.id), await theKey()];
      expect(JSON.stringify(all)).not.to.include(issued.key.slice(3, 30));
    });

    it('names every wrong field of an issue at once', async () => {
      const wrong = { label: '', scopes: ['text/remove-stopword'], expires_at: '2029-12-31' };
      const found = await problems(issue(wrong));
      expect(found).to.have.keys('label', 'scopes', 'expires_at');
      expect(found.scopes).to.include('"text/remove-stopword"').and.include('"text/remove-stopwords"');
      for (const scopes of [[], 'text/*', [7], ['*'], Array(101).fill('text/*')]) {
        expect(await problems(issue({ scopes }))).to.have.keys('scopes');
      }
      for (const label of ['a'.repeat(101), 'a\u0000b', 'a\ud800', 'a\u2028b', 7]) {
        expect(await problems(issue({ label }))).to.have.keys('label');
      }
      // Without text that would turn the message's own.
      expect((await problems(issue({ label: 'a\u202eb' }))).label).to.include('a\\u{202e}b');
      expect((await admin.listKeys('acme')).keys).to.deep.equal([]);
    });

    it('says not_found for what is not there, whatever was asked', async () => {
      for (const name of ['nobody', 'Not A Name', 'a\u0000b', '']) {
        expect(await code(admin.issueKey(name, {}, 'ann'))).to.equal('not_found');
        expect(await code(admin.listKeys(name))).to.equal('not_found');
        expect(await code(admin.editTenant(name, {}, 'ann'))).to.equal('not_found');
      }
      for (const id of ['key_none', 'key_\u0000', '', `key_${'a'.repeat(500)}`]) {
        expect(await code(admin.rotateKey(id, {}, 'ann'))).to.equal('not_found');
        expect(await code(admin.revokeKey(id, 'ann'))).to.equal('not_found');
        expect(await code(admin.endGrace(id, 'ann'))).to.equal('not_found');
      }
    });

    it('repeats no secret that is given in place of an id, and says what was meant', async () => {
      const { key, signing_secret } = await issue();
      for (const secret of [key, signing_secret as string]) {
        for (const work of [admin.revokeKey(secret, 'ann'), admin.rotateSigning(secret, 'ann')]) {
          expect(String(await rejection(work)))
            .to.include('key_')
            .and.not.include(secret.slice(0, 12));
        }
      }
    });

    it('rotates with a grace of a day by default', async () => {
      const { id, key } = await issue();
      now += hour;
      const rotated = await admin.rotateKey(id, {}, 'ann');
      const previous_expires_at = '2030-01-02T01:00:00.000Z';
      expect(rotated).to.include({ id, previous_expires_at }).and.not.include({ key });
      expect(await ends()).to.deep.equal([null, previous_expires_at]);
      now += 24 * hour;
      expect(await ends()).to.deep.equal([null]);
    });

    it('keeps the ends of older secrets when it rotates again', async () => {
      const { id } = await issue();
      for (const grace_seconds of [7200, 60]) await admin.rotateKey(id, { grace_seconds }, 'ann');
      expect(await ends()).to.have.members([null, '2030-01-01T02:00:00.000Z', '2030-01-01T00:01:00.000Z']);
    });

    it('ends every older secret with no grace, whatever the clock does later', async () => {
      const { id } = await issue();
      await admin.rotateKey(id, { grace_seconds: 7200 }, 'ann');
      const rotated = await admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
      expect(rotated.previous_expires_at).to.equal('2030-01-01T00:00:00.000Z');
      now -= 10 * hour;
      expect(await ends()).to.deep.equal([null]);
    });

    it('never lets a grace pass the key’s own end', async () => {
      const { id } = await issue({ expires_at: '2030-01-01T06:00Z' });
      const rotated = await admin.rotateKey(id, {}, 'ann');
      expect(rotated.previous_expires_at).to.equal('2030-01-01T06:00:00.000Z');
    });

    it('refuses a grace that is no whole number of seconds up to 90 days', async () => {
      const { id } = await issue();
      for (const grace_seconds of [-1, 1.5, 7_776_001, Number.NaN, '60', {}]) {
        const wrong = { grace_seconds: grace_seconds as number };
        expect(await problems(admin.rotateKey(id, wrong, 'ann'))).to.have.keys('grace_seconds');
      }
      await admin.rotateKey(id, { grace_seconds: 7_776_000 }, 'ann');
    });

    it('does not rotate a key that was revoked or has expired', async () => {
      const revoked = await issue();
      await admin.revokeKey(revoked.id, 'ann');
      expect((await problems(admin.rotateKey(revoked.id, {}, 'ann'))).id).to.include('revoked');
      const expiring = await issue({ expires_at: '2030-01-01T01:00Z' });
      now += hour;
      expect((await problems(admin.rotateKey(expiring.id, {}, 'ann'))).id).to.include('expired');
      const { keys } = await admin.listKeys('acme');
      expect(keys.map((key) => key.state)).to.have.members(['revoked', 'expired']);
    });

    it('ends a grace by hand', async () => {
      const { id } = await issue();
      await admin.rotateKey(id, {}, 'ann');
      expect((await admin.endGrace(id, 'ann')).secrets).to.have.length(1);
      expect((await admin.endGrace(id, 'ann')).secrets).to.have.length(1);
      const { entries } = await admin.audit({ key: id });
      expect(entries.map(({ action }) => action)).to.deep.equal(['key.end_grace', 'key.rotate', 'key.issue']);
    });

    it('revokes once, and a second time changes nothing', async () => {
      const { id } = await issue();
      const first = await admin.revokeKey(id, 'ann');
      now += hour;
      const second = await admin.revokeKey(id, 'bob');
      expect(second).to.deep.equal(first);
      expect(second).to.include({ state: 'revoked', revoked_at: '2030-01-01T00:00:00.000Z' });
      expect((await admin.audit({ key: id })).entries).to.have.length(2);
    });

    it('sets limits one by one, and back to the default', async () => {
      await admin.editTenant('acme', { rate: 2, monthly_quota: 1000, weight: 4 }, 'ann');
      const changed = await admin.editTenant('acme', { rate: null, in_flight: 3 }, 'ann');
      expect(changed.limits).to.deep.equal({ ...noLimits, monthly_quota: 1000, in_flight: 3 });
      expect(await admin.tenant('acme')).to.deep.equal(changed);
      expect(changed.weight).to.equal(4);
      const wrong = { rate: 2.5, burst: 0.5, monthly_quota: '9', in_flight: 0, weight: 101 };
      expect(await problems(admin.editTenant('acme', wrong as object, 'ann'))).to.have.keys(
        Object.keys(wrong),
      );
    });

    it('logs who did what, newest first, in pages', async () => {
      const { id } = await issue();
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
        ids.push((await issue()).id);
      }
      const first = await admin.listKeys('acme', { limit: 2 });
      const second = await admin.listKeys('acme', { limit: 2, after: first.next as string });
      expect([...first.keys, ...second.keys].map((key) => key.id)).to.deep.equal(ids);
      expect(await problems(admin.listKeys('acme', { after: 'a\u0000' }))).to.have.keys('after');
    });

    it('shows the signing secret with the key, and again on request, which is noted', async () => {
      const { id, signing_secret } = await issue();
      expect(signing_secret).to.match(/^hgs_/);
      expect(await admin.signingSecret(id, 'bob')).to.deep.equal({ id, signing_secret });
      const [entry] = (await admin.audit({ key: id })).entries;
      expect(entry).to.deep.include({ actor: 'bob', action: 'key.signing_secret', detail: {} });
    });

    it('replaces a signing secret for good, stores nothing of it, and leaves the key as it is', async () => {
      const { id, signing_secret: first } = await issue();
      const key = await admin.key(id);
      const { signing_secret: second } = await admin.rotateSigning(id, 'bob');
      const { signing_secret: third } = await admin.rotateSigning(id, 'bob');
      expect(new Set([first, second, third]).size).to.equal(3);
      expect((await admin.signingSecret(id, 'ann')).signing_secret).to.equal(third);
      expect(await admin.key(id)).to.deep.equal(key);
      const rotations = (await actions()).filter(([, action]) => action === 'key.rotate_signing');
      expect(rotations.map(([, , detail]) => detail)).to.deep.equal([
        { signing_version: 3 },
        { signing_version: 2 },
      ]);
      // The database alone forges nothing.
      const everything = JSON.stringify([await store.key(id), await store.audit({ limit: 100 })]);
      for (const secret of [first as string, second, third]) {
        expect(everything).not.to.include(secret.slice(4, 20));
      }
    });

    it('keeps the signing secret through a rotation of the key', async () => {
      const { id, signing_secret } = await issue();
      await admin.rotateKey(id, { grace_seconds: 0 }, 'ann');
      expect((await admin.signingSecret(id, 'ann')).signing_secret).to.equal(signing_secret);
    });

    const sign = (id: string, given: object = {}) =>
      admin.signUrl(id, {
        url: '/text/remove-stopwords',
        service: 'text/remove-stopwords',
        exp: 1,
        ...given,
      });

    it('has no signing secret of a key that is dead or not there', async () => {
      const { id } = await issue({ expires_at: '2030-01-02' });
      now += 24 * hour;
      for (const work of [
        (of: string) => admin.signingSecret(of, 'ann'),
        (of: string) => admin.rotateSigning(of, 'ann'),
        sign,
      ]) {
        expect(await problems(work(id))).to.have.keys('id');
        for (const none of ['key_none', 'a\u0000', '']) expect(await code(work(none))).to.equal('not_found');
      }
    });

    it('signs what the key may call, and notes nothing', async () => {
      const { id } = await issue({ scopes: ['text/*'] });
      expect(await sign(id, { url: '/text/remove-stopwords?b=c', exp: 1_900_000_000 })).to.match(
        new RegExp(`^/text/remove-stopwords\\?b=c&kid=${id}&exp=1900000000&sig=[\\w-]{43}$`),
      );
      const refused = await problems(sign(id, { url: '/media/add-border', service: 'media/add-border' }));
      expect(Object.values(refused)[0]).to.include('may call text/*');
      expect((await admin.audit({ key: id })).entries).to.have.length(1);
    });

    it('signs for a year at most', async () => {
      const { id } = await issue();
      const year = now / 1000 + 366 * 86_400;
      expect(await sign(id, { exp: year })).to.include(`exp=${year}`);
      for (const exp of [year + 1, 4e9, 9e15]) {
        expect((await problems(sign(id, { exp }))).expires_at).to.include('366 days at most');
      }
    });

    it('issues keys and shows tenants without a master too, and names the variable for all else', async () => {
      const none = createKeyAdmin({
        store,
        signing: createSigningSecrets(undefined),
        compileRecipe,
        services: () => [],
      });
      const { id, signing_secret } = await none.issueKey('acme', {}, 'ann');
      expect(signing_secret).to.equal(null);
      for (const work of [
        none.signingSecret(id, 'ann'),
        none.rotateSigning(id, 'ann'),
        none.signUrl(id, { url: '/a', service: 'a', exp: 1 }),
        none.webhookSecret('acme', 'ann'),
        none.rotateWebhookSecret('acme', 'ann'),
      ]) {
        const error = (await rejection(work)) as GatewayError;
        expect(error).to.include({ code: 'storage_unavailable' });
        expect(error.message).to.include('HELPER_SIGNING_SECRET');
      }
      expect((await store.key(id))?.signing_version).to.equal(1);
      const shown = await none.tenantWithSecret('acme');
      expect(shown).to.include({ name: 'acme', webhook_secret: null });
      expect(shown).to.have.property('webhook_hint').that.includes('HELPER_SIGNING_SECRET');
      expect(await actions()).to.have.length(2);
    });

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
      const others = [await admin.listTenants(), await admin.editTenant('acme', { rate: 1 }, 'ann')];
      expect(JSON.stringify(others)).not.to.match(/webhook|whsec_/);
    });

    it('replaces the webhook secret, and says until when the one before signs as well', async () => {
      const rotated = await admin.rotateWebhookSecret('acme', 'bob');
      expect(rotated).to.deep.equal({
        tenant: 'acme',
        webhook_secret: signing.webhooks.current(tenantId, 2),
        previous_until: new Date(now + 24 * hour).toISOString(),
      });
      const tenant = await store.tenant('acme');
      expect(tenant).to.include({ webhook_version: 2, webhook_rotated_at: now });
      const noted = ['bob', 'tenant.rotate_webhook_secret', { webhook_version: 2 }];
      expect((await actions())[0]).to.deep.equal(noted);
      // The database alone forges nothing.
      const everything = JSON.stringify([tenant, await store.audit({ limit: 100 })]);
      expect(everything).not.to.include(rotated.webhook_secret.slice(6, 20));
      now += 24 * hour - 1;
      expect((await admin.webhookSecret('acme', 'bob')).previous_until).to.be.a('string');
      now += 1;
      expect((await admin.webhookSecret('acme', 'bob')).previous_until).to.equal(null);
    });

    it('has no webhook secret of a tenant that is not there', async () => {
      for (const work of [admin.webhookSecret, admin.rotateWebhookSecret, admin.tenantWithSecret]) {
        expect(await code(work('globex', 'ann'))).to.equal('not_found');
      }
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
        expect((await store.tenants(byName)).rows).to.have.length(1);
        const demo = await findTenant(store, 'demo');
        await store.change((tx) => tx.deleteTenant(demo, 1));
        expect(await createFirstTenant(store)).to.equal(undefined);
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

import { expect } from 'chai';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { GatewayError } from '../../../gateway/errors.js';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import { type Key, newKey, newTenant } from '../../../gateway/keys/model.js';
import { keySorts, tenantSorts } from '../../../gateway/keys/schemas.js';
import { createKeyStore, type KeyStore } from '../../../gateway/keys/store.js';
import { onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { rejection } from './key-store-contract.js';
import { compileRecipe } from './recipe-compiler.js';

const startTime = Date.UTC(2030, 0, 15);
const names = ['acme', 'b-z', 'b', 'ba', '0'];

/** `grace`: when its older secret ends. */
type NewKey = Partial<Key> & { tenant?: string | undefined; prefix?: string; grace?: number };

describe('keys/lists', () =>
  onEachDatabase((database) => {
    let store: KeyStore;
    let admin: KeyAdmin;

    beforeEach(async () => {
      const access = (await database().connect()).access();
      store = createKeyStore(access);
      admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [], now: () => startTime });
      await store.change(async (tx) => {
        for (const [at, name] of names.entries())
          await tx.addTenant({ ...newTenant, id: `ten_${name}`, name, created_at: at % 3 });
      });
      const calls = [
        ['acme', '2030-01-15', 5, 1],
        ['acme', '2030-01-09', 5, 0],
        ['acme', '2030-01-08', 900, 900],
        ['ba', '2030-01-10', 30, 2],
      ] as const;
      for (const [name, day, count, errors] of calls)
        await access.run((db) =>
          sql`
            insert into usage_rollup (tenant, day, service, calls, errors_client, errors_limited, errors_server, bytes_in, bytes_out, cpu_ms)
            values (${`ten_${name}`}, ${day}, '', ${count}, ${errors}, 0, 0, 0, 0, ${count * 2.5})
          `.execute(db),
        );
    });

    /** Adds keys of the tenant `acme`, or another, one a millisecond. */
    async function addKeys(keys: Record<string, NewKey>) {
      await store.change(async (tx) => {
        for (const [at, [name, given]] of Object.entries(keys).entries()) {
          const { tenant = 'acme', prefix = 'hg_zzzz', grace, ...more } = given;
          const id = `key_${name}`;
          const none = { label: null, scopes: null, expires_at: null };
          await tx.addKey({ ...newKey, ...none, ...more, id, tenant_id: `ten_${tenant}`, created_at: at });
          const secret = {
            key_id: id,
            prefix,
            suffix: 'x9Yz',
            created_at: at,
            ended_at: null,
          };
          await tx.addSecret({ ...secret, id: `sec_${name}`, hash: `hash ${name}`, expires_at: null });
          if (grace !== undefined)
            await tx.addSecret({
              ...secret,
              id: `old_${name}`,
              hash: `old ${name}`,
              expires_at: grace,
            });
        }
      });
    }

    const tenantNames = async (query: Record<string, unknown>) =>
      (await admin.listTenants(query)).tenants.map(({ name }) => name);
    const keyNames = async (query: Record<string, unknown>) =>
      (await admin.searchKeys(query)).keys.map(({ id }) => id.slice('key_'.length));

    it('sort tenants by what they have done in the last days', async () => {
      expect(await tenantNames({ sort: 'calls', limit: 2 })).to.deep.equal(['ba', 'acme']);
      expect((await tenantNames({ sort: 'calls', days: 8 }))[0]).to.equal('acme');
      expect((await tenantNames({ sort: 'cpu_ms', order: 'asc' })).slice(-2)).to.deep.equal(['acme', 'ba']);
      const [listed] = (await admin.listTenants({ q: 'acme' })).tenants;
      expect(listed).to.include({ calls: 10, errors: 1, cpu_ms: 25, last_used_at: null });
    });

    it('search tenants by name, external id and note, by state and by plan', async () => {
      await admin.putPlan('team', {}, 'ann');
      await admin.editTenant('ba', { external_id: 'CRM-7', note: 'pays 100%', plan: 'team' }, 'ann');
      await admin.editTenant('b', { state: 'suspended' }, 'ann');
      const found = [
        { q: 'crm-' },
        { q: '100%' },
        { q: 'B-' },
        { q: '_' },
        { plan: 'team' },
        { state: 'suspended' },
      ];
      expect(await Promise.all(found.map(tenantNames))).to.deep.equal([
        ['ba'],
        ['ba'],
        ['b-z'],
        [],
        ['ba'],
        ['b'],
      ]);
      expect(await tenantNames({ state: 'active' })).to.have.length(4);
    });

    it('show keys of all tenants, the newest first, and revoked ones where they are asked for', async () => {
      await addKeys({
        live: { last_used_at: 7 },
        revoked: { revoked_at: 1 },
        expired: { expires_at: startTime, tenant: 'b' },
        paused: { paused_at: 1 },
        graced: { grace: startTime + 1, tenant: 'b' },
        late: { grace: startTime },
      });
      expect(await keyNames({})).to.deep.equal(['late', 'graced', 'paused', 'expired', 'live']);
      expect(await keyNames({ state: 'all' })).to.have.length(6);
      expect(await keyNames({ tenant: 'b' })).to.deep.equal(['graced', 'expired']);
      expect(await keyNames({ state: 'active' })).to.deep.equal(['late', 'graced', 'live']);
      for (const [state, name] of Object.entries({
        revoked: 'revoked',
        expired: 'expired',
        paused: 'paused',
      }))
        expect(await keyNames({ state }), state).to.deep.equal([name]);
      expect(await keyNames({ state: 'in_grace' })).to.deep.equal(['graced']);
      expect(await keyNames({ sort: 'last_used_at' })).to.have.property('0', 'live');
      expect(await keyNames({ sort: 'tenant' })).to.deep.equal([
        'late',
        'live',
        'paused',
        'expired',
        'graced',
      ]);
      const [first] = (await admin.searchKeys({ q: 'graced' })).keys;
      expect(first).to.include({ tenant: 'b' });
    });

    it('find keys by their id, label or first characters, whatever their case', async () => {
      await addKeys({ Ab1: { label: 'Billing 50%_é' }, cD2: { prefix: 'hg_Ab3d' } });
      const texts = [
        'ab1',
        'KEY_AB',
        'billing',
        '50%_',
        'é',
        'hg_ab3',
        'hg_Ab3d…x9Yz',
        'hg_ab3d5',
        '%',
        'é%',
      ];
      const found = await Promise.all(texts.map((q) => keyNames({ q })));
      expect(found.map(String)).to.deep.equal([
        'Ab1',
        'Ab1',
        'Ab1',
        'Ab1',
        'Ab1',
        'cD2',
        'cD2',
        'cD2',
        'Ab1',
        '',
      ]);
    });

    it('find what has a text in it and nothing else, whatever the text', async () => {
      const letter = fc.constantFrom(...'aAbB%_\\\'"é É.');
      const text = fc
        .string({ unit: letter, minLength: 1, maxLength: 4 })
        .filter((text) => text.trim() !== '');
      const labels = fc.sample(text, { numRuns: 60, seed: 7 });
      await addKeys(Object.fromEntries(labels.map((label, at) => [String(at), { label }])));
      const fold = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
      for (const q of fc.sample(text, { numRuns: 40, seed: 8 })) {
        const expected = labels.flatMap((label, at) => (fold(label).includes(fold(q)) ? String(at) : []));
        const byId = [...labels.keys()].map(String).filter((at) => `key_${at}`.includes(fold(q)));
        const found = await keyNames({ q, order: 'asc' });
        expect(found, JSON.stringify(q)).to.have.members([...new Set([...expected, ...byId])]);
      }
    });

    it('give every row once, forwards and back, in any order', async () => {
      const labels = ['a', 'B', 'b', 'a', '', 'ü'];
      await addKeys(
        Object.fromEntries(
          labels.map((label, at) => [
            at,
            { label: label || null, last_used_at: at % 2 || null, tenant: names[at % 4] },
          ]),
        ),
      );
      type Page = { previous: string | null; next: string | null };
      async function expectWhole<P extends Page>(
        read: (page: object) => Promise<P>,
        idsOf: (page: P) => string[],
      ) {
        const whole = idsOf(await read({}));
        for (const limit of [1, 2, 3]) {
          const pages = [await read({ limit })];
          expect(pages[0]?.previous).to.equal(null);
          for (let next = pages[0]?.next; next; next = pages.at(-1)?.next)
            pages.push(await read({ limit, after: next }));
          expect(pages.flatMap(idsOf)).to.deep.equal(whole);
          for (let at = pages.length - 1; at > 0; at--) {
            const back = await read({ limit, before: pages[at]?.previous });
            expect(idsOf(back)).to.deep.equal(idsOf(pages[at - 1] as P));
            expect(back.next).not.to.equal(null);
          }
        }
      }
      for (const order of ['asc', 'desc']) {
        for (const sort of keySorts)
          await expectWhole(
            (page) => admin.searchKeys({ sort, order, ...page }),
            ({ keys }) => keys.map(({ id }) => id),
          );
        for (const sort of tenantSorts)
          await expectWhole(
            (page) => admin.listTenants({ sort, order, ...page }),
            ({ tenants }) => tenants.map(({ id }) => id),
          );
      }
    });

    it('refuse the cursor of another order', async () => {
      await addKeys({ a: { label: 'x' }, b: { label: 'y' } });
      const { next: after } = await admin.searchKeys({ sort: 'label', limit: 1 });
      const error = (await rejection(admin.searchKeys({ sort: 'created_at', after }))) as GatewayError;
      expect(error.details?.map(({ field }) => field)).to.deep.equal(['after']);
      const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const forged = [[1.5, 'x'], [1e300, 'x'], [1, '\0'], [1]].map(encode);
      for (const text of ['e30', 'bnVsbA', '-', ...forged])
        expect(await rejection(admin.searchKeys({ before: text }))).to.have.property('code', 'invalid_input');
    });
  }));

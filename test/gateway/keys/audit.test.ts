import { expect } from 'chai';
import { createKeyAdmin, type KeyAdmin } from '../../../gateway/keys/admin.js';
import type { AuditAction } from '../../../gateway/keys/audit-text.js';
import { auditActions, auditText } from '../../../gateway/keys/audit-text.js';
import { onEachDatabase } from '../databases.js';
import { signing } from '../signing/signing.js';
import { compileRecipe } from './recipe-compiler.js';

describe('keys: the audit log in words', () => {
  const text = (action: AuditAction, detail: object = {}, label: string | null = 'web shop') =>
    auditText(
      { action, tenant_id: 'ten_1', key_id: 'key_1', detail: { ...detail } },
      { tenant: 'acme', label },
    );

  it('says what was done to what', () => {
    expect(text('key.rotate', { grace_seconds: 3600 })).to.equal(
      'rotated the key web shop (key_1); the old secret works for 1 hour',
    );
    expect(text('key.rotate', { grace_seconds: 0 })).to.include('no old secret works any more');
    expect(text('key.rotate', { grace_seconds: 5400 }, null)).to.equal(
      'rotated the key key_1; the old secret works for 90 minutes',
    );
    expect(text('key.issue', { scopes: ['text/*'], expires_at: null })).to.equal(
      'issued the key web shop (key_1) for text/*',
    );
    expect(text('key.issue', { scopes: null, expires_at: '2030-01-31T18:00:00.123Z' })).to.equal(
      'issued the key web shop (key_1) for every helper, until 2030-01-31 18:00 UTC',
    );
    expect(text('tenant.limits', { rate: 5, monthly_quota: null })).to.equal(
      'changed limits of acme: rate 5, monthly quota none',
    );
    expect(text('key.edit', { rate: { from: null, to: 5 }, label: { from: 'a', to: 'b' } })).to.equal(
      'edited the key web shop (key_1): rate from none to 5, label from a to b',
    );
    expect(text('member.role', { email: 'ada@acme.example', role: 'viewer', before: 'member' })).to.equal(
      'made ada@acme.example viewer of acme, who was member',
    );
  });

  it('has a sentence for every action, and at least names one that it does not know', () => {
    for (const action of auditActions)
      expect(text(action), action)
        .to.match(/^[a-z][^%]+$/)
        .and.not.include('undefined');
    expect(text('cake.bake' as AuditAction)).to.equal('cake.bake');
  });
});

describe('keys: the audit log', () =>
  onEachDatabase((files) => {
    let admin: KeyAdmin;
    let now = Date.parse('2030-01-01T00:00Z');
    beforeEach(async () => {
      const store = await files().open();
      admin = createKeyAdmin({ store, signing, compileRecipe, services: () => [], now: () => now });
      await admin.createTenant('acme', 'user:Ada@acme.example');
      now += 86_400_000;
      await admin.createTenant('globex', 'cli:root');
      await admin.issueKey('acme', { label: 'web shop' }, 'user:bob_@acme.example');
    });

    const texts = async (query: object) =>
      (await admin.audit(query)).entries.map(({ tenant, text }) => [tenant, text]);

    it('is chosen from by actor, action, tenant, key and time', async () => {
      const key = (await admin.listKeys('acme')).keys[0]?.id ?? '';
      const issued = ['acme', `issued the key web shop (${key}) for every helper`];
      const acme = ['acme', 'created the tenant acme'];
      const globex = ['globex', 'created the tenant globex'];
      for (const [query, found] of [
        [{}, [issued, globex, acme]],
        [{ actor: 'ADA@' }, [acme]],
        [{ actor: 'b_' }, [issued]],
        [{ actor: '%' }, []],
        [{ action: 'tenant.create' }, [globex, acme]],
        [{ tenant: 'acme' }, [issued, acme]],
        [{ key }, [issued]],
        [{ to: '2030-01-01' }, [acme]],
        [{ from: '2030-01-02', action: 'tenant.create' }, [globex]],
        [{ to: '2030-01-01T23:00:00Z' }, [acme]],
      ] as const)
        expect(await texts(query), JSON.stringify(query)).to.deep.equal(found);
      const wrong = { action: 'key.rotat', from: 'x', actor: '\0' };
      const refusal = await admin.audit(wrong).catch((error) => error);
      const fields = refusal.details.map(({ field }: { field: string }) => field);
      expect(fields).to.have.members(Object.keys(wrong));
      await admin.createTenant('umbrella', 'token:École');
      expect(await texts({ actor: 'ÉCOLE' })).to.deep.equal([['umbrella', 'created the tenant umbrella']]);
    });

    it('leads forward and back', async () => {
      const first = await admin.audit({ limit: 2 });
      expect(first.previous).to.equal(null);
      const last = await admin.audit({ limit: 2, before: first.next as number });
      expect([last.entries.length, last.next]).to.deep.equal([1, null]);
      const back = await admin.audit({ limit: 2, after: last.previous as number });
      expect([back.entries, back.previous, back.next]).to.deep.equal([first.entries, null, first.next]);
    });
  }));

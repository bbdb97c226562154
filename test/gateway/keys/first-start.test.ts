import { expect } from 'chai';

import { createFirstTenant } from '../../../gateway/keys/first-start.js';
import { hashSecret } from '../../../gateway/keys/hash-secret.js';
import { onEachDatabase } from '../databases.js';

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

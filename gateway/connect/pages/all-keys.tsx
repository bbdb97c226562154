import { GatewayError } from '../../errors.js';
import type { PageAnswer, PageCall, PageRoute } from '../page.js';
import { KeyList } from './key-list.js';
import { Empty, Next } from './parts.js';

const TENANTS = 20;
const KEYS = 100;

export const allKeysPages: PageRoute[] = [
  { method: 'GET', path: '/keys', access: 'operator', run: allKeysPage },
];

/** Every key, under its tenant. */
async function allKeysPage({ site, query }: PageCall): Promise<PageAnswer> {
  const after = query.get('after');
  if (after !== undefined && !/^[a-z0-9-]{1,63}$/.test(after)) throw new GatewayError('not_found');
  const { tenants, next } = await site.admin.listTenants({ after, limit: TENANTS });
  const lists = await Promise.all(
    tenants.map(async ({ name }) => ({ name, ...(await site.admin.listKeys(name, { limit: KEYS })) })),
  );
  const filled = lists.filter(({ keys }) => keys.length > 0);
  return {
    title: 'Keys',
    body: (
      <>
        <h1>Keys</h1>
        {filled.length === 0 && (
          <Empty title="No keys here yet">
            <p>
              Choose a tenant under <a href="/tenants">Tenants</a> and issue its first key there.
            </p>
          </Empty>
        )}
        {filled.map(({ name, keys, next: more }) => (
          <section key={name}>
            <h2>
              <a href={`/tenants/${name}`}>{name}</a>
            </h2>
            <KeyList tenant={name} keys={keys} />
            {more && (
              <p>
                <a href={`/tenants/${name}?after=${more}`}>More keys of {name}</a>
              </p>
            )}
          </section>
        ))}
        <Next href={next && `/keys?after=${encodeURIComponent(next)}`} />
      </>
    ),
  };
}

import { operator } from '../doors.js';
import { type PageAnswer, type PageRequest, readList } from '../page.js';
import { get, type PageRoute } from '../route.js';
import { Empty, Next } from './elements.js';
import { KeyList } from './key-list.js';

const tenantsShown = 20;
const keysShown = 100;

export const allKeysPages: PageRoute[] = [get(operator, '/keys', allKeysPage)];

/** Every key, under its tenant. */
async function allKeysPage({ site, query }: PageRequest): Promise<PageAnswer> {
  const after = query.get('after');
  const { tenants, next } = await readList(() => site.admin.listTenants({ after, limit: tenantsShown }));
  const lists = await Promise.all(
    tenants.map(async ({ name }) => ({ name, ...(await site.admin.listKeys(name, { limit: keysShown })) })),
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

import type { KeyView } from '../../keys/views.js';
import { Moment, Scopes, State, Table } from './elements.js';

/** Keys as a table, each leading to its page. */
export function KeyList({ tenant, keys }: { tenant: string; keys: readonly KeyView[] }) {
  return (
    <Table
      label={`Keys of ${tenant}`}
      head={
        <>
          <th scope="col">Label</th>
          <th scope="col">Key</th>
          <th scope="col">State</th>
          <th scope="col">May call</th>
          <th scope="col">Expires</th>
          <th scope="col">Last used</th>
        </>
      }
    >
      {keys.map((key) => (
        <tr key={key.id}>
          <th scope="row">
            <a href={`/tenants/${tenant}/keys/${key.id}`}>{key.label ?? key.id}</a>
          </th>
          <td>
            <code>{key.hint}</code>
          </td>
          <td>
            <State state={key.state} />
            {key.secrets.length > 1 && <span class="state grace">{key.secrets.length - 1} in grace</span>}
          </td>
          <td class="scopes">
            <Scopes scopes={key.scopes} />
          </td>
          <td>{key.expires_at ? <Moment at={key.expires_at} /> : <span class="quiet">never</span>}</td>
          <td>{key.last_used_at ? <Moment at={key.last_used_at} /> : <span class="quiet">never</span>}</td>
        </tr>
      ))}
    </Table>
  );
}

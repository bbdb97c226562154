import type { KeyView } from '../../keys/views.js';
import { Moment, Scopes, State, Table } from './elements.js';

/** What a key is, as a list. */
export function KeyFacts({ keyView: key }: { keyView: KeyView }) {
  return (
    <dl class="facts">
      <dt>Id</dt>
      <dd>
        <code>{key.id}</code>
      </dd>
      <dt>State</dt>
      <dd>
        <State state={key.state} />
        {key.revoked_at && (
          <>
            {' '}
            since <Moment at={key.revoked_at} />
          </>
        )}
      </dd>
      <dt>May call</dt>
      <dd>
        <Scopes scopes={key.scopes} />
      </dd>
      <dt>Created</dt>
      <dd>
        <Moment at={key.created_at} />
      </dd>
      <dt>Expires</dt>
      <dd>{key.expires_at ? <Moment at={key.expires_at} /> : 'never'}</dd>
      <dt>Last used</dt>
      <dd>{key.last_used_at ? <Moment at={key.last_used_at} /> : 'never'}</dd>
    </dl>
  );
}

/** The secrets of a key that work, and until when. */
export function KeySecrets({ secrets }: Pick<KeyView, 'secrets'>) {
  if (secrets.length === 0) return null;
  return (
    <Table
      label="Secrets that work"
      head={
        <>
          <th scope="col">Secret</th>
          <th scope="col">Made</th>
          <th scope="col">Works until</th>
        </>
      }
    >
      {secrets.map((secret) => (
        <tr key={secret.id}>
          <th scope="row">
            <code>{secret.hint}</code>
          </th>
          <td>
            <Moment at={secret.created_at} />
          </td>
          <td>{secret.expires_at ? <Moment at={secret.expires_at} /> : 'current'}</td>
        </tr>
      ))}
    </Table>
  );
}

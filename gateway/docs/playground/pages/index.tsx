import type { FileField } from '../../../../schemas/declared-helper.js';
import type { Helper, Registry } from '../../../helpers/registry.js';
import { addressOf } from '../address.js';
import { KeySource } from './key-source.js';

/** All helpers, by the first segment of their paths. */
export function HelperList({ registry, keySite }: { registry: Registry; keySite: string | undefined }) {
  const groups = groupsOf(registry);
  return (
    <>
      <h1>Helpers</h1>
      <p class="lead">
        Small tools behind one API. Pick one to try it here; each takes GET and POST, with parameters in the
        query, as JSON or as a form, and answers with JSON or a file.
      </p>
      <p class="quiet">
        A call needs an API key. <KeySource keySite={keySite} />
      </p>
      <p class="quiet">
        The <a href="/docs">reference</a> has every path, and <a href="/openapi.json">openapi.json</a> makes
        clients.
      </p>
      {groups.length === 0 && <p>No helper is served.</p>}
      {groups.map(([group, helpers]) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`} class="group-name">
            {group}
          </h2>
          <ul class="cards">
            {helpers.map(({ id, declaration }) => (
              <li key={id} class="card">
                <a href={addressOf(id)}>{id}</a>
                <p>{declaration.summary}</p>
                <Taken files={declaration.files} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}

/** What has to be at hand to try it. */
function Taken({ files }: { files: readonly FileField[] }) {
  const pictures = files.filter(({ kind }) => kind === 'image').length;
  const others = files.length - pictures;
  const tags = [
    ...(pictures > 0 ? [pictures === 1 ? 'takes a picture' : `takes ${pictures} pictures`] : []),
    ...(others > 0 ? [others === 1 ? 'takes a file' : `takes ${others} files`] : []),
  ];
  if (tags.length === 0) return null;
  return (
    <p>
      {tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
        </span>
      ))}
    </p>
  );
}

function groupsOf(registry: Registry): [string, Helper[]][] {
  const groups = new Map<string, Helper[]>();
  for (const helper of [...registry.values()].sort((one, other) => (one.id < other.id ? -1 : 1))) {
    const group = helper.id.slice(0, helper.id.includes('/') ? helper.id.indexOf('/') : undefined);
    groups.set(group, [...(groups.get(group) ?? []), helper]);
  }
  return [...groups];
}

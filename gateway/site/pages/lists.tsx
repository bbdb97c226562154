import { useContext } from 'preact/hooks';
import { Icon } from '../../http/page-shell.js';
import { type Sorting, useAddress, ViewContext } from './elements.js';

/** What the address of a list says: filters, order and place. Who reads the list checks what no page leads to. */
export function readListQuery(query: ReadonlyMap<string, string>, standard: Sorting) {
  const text = (name: string) => query.get(name)?.trim() || undefined;
  const chosen = text('order');
  const order: Sorting['order'] = chosen === 'asc' || chosen === 'desc' ? chosen : standard.order;
  const sort = text('sort') ?? standard.by;
  const asked = { q: text('q'), state: text('state'), after: text('after'), before: text('before') };
  return { ...asked, sort, order, sorting: { by: sort, order } };
}

/** The search of a list: it keeps the list's other filters, and needs no script. */
export function SearchForm({ label, name = 'q' }: { label: string; name?: string }) {
  const { path, search } = useContext(ViewContext);
  const query = new URLSearchParams(search);
  const dropped = [name, 'after', 'before', 'done', 'saved'];
  const rest = [...query].filter(([other]) => !dropped.includes(other));
  return (
    <search>
      <form method="get" action={path} class="search">
        {rest.map(([other, value]) => (
          <input type="hidden" name={other} value={value} key={other} />
        ))}
        <Icon name="search" />
        <input
          type="search"
          name={name}
          value={query.get(name) ?? ''}
          aria-label={label}
          placeholder={label}
        />
        <button type="submit" class="quiet-button">
          Search
        </button>
      </form>
    </search>
  );
}

/** The values of the filter `name` as links; the empty one is what the list shows without it. */
export function Chips(props: {
  name: string;
  label: string;
  options: readonly (readonly [value: string, text: string])[];
}) {
  const { name, label, options } = props;
  const { search } = useContext(ViewContext);
  const chosen = new URLSearchParams(search).get(name) ?? '';
  return (
    <nav class="spans" aria-label={label}>
      {options.map(([value, text]) => (
        <Chip key={value} change={{ [name]: value || null }} text={text} current={value === chosen} />
      ))}
    </nav>
  );
}

function Chip(props: { change: Record<string, string | null>; text: string; current: boolean }) {
  return (
    <a href={useAddress(props.change)} aria-current={props.current ? 'true' : undefined}>
      {props.text}
    </a>
  );
}

/**
 * Ways to the pages of a list before and after this one, with the same filters. Each is what the address is to have as
 * `before` or `after`; without `previous` there is a way to the first page.
 */
export function Pager({ previous, next }: { previous?: string | null; next: string | null }) {
  const { search } = useContext(ViewContext);
  const query = new URLSearchParams(search);
  const moved = query.has('after') || query.has('before');
  const first = useAddress({});
  const before = useAddress({ before: previous ?? null });
  const after = useAddress({ after: next });
  const back = previous ? before : previous === undefined && moved ? first : undefined;
  if (!back && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages of this list">
      {back && (
        <a class="button quiet-button" href={back} rel="prev">
          {previous ? 'Previous page' : 'First page'}
        </a>
      )}
      {next !== null && (
        <a class="button quiet-button" href={after} rel="next">
          Next page
        </a>
      )}
    </nav>
  );
}

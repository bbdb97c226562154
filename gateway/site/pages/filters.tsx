import { useContext } from 'preact/hooks';
import { GatewayError } from '../../errors.js';
import { useAddress, ViewContext } from './elements.js';

interface Filter {
  name: string;
  label: string;
  type?: 'text' | 'date';
  /** What holds where the address does not say. */
  standard?: string;
  /** Values to choose from, with their texts; the first of the list is no choice. */
  options?: readonly (readonly [value: string, text: string])[];
}

/** A list's filters as a form of the address: it needs no script. */
export function FilterForm({ label, filters }: { label: string; filters: readonly Filter[] }) {
  const { path, search } = useContext(ViewContext);
  const query = new URLSearchParams(search);
  const names = new Set(['after', 'before', 'format', ...filters.map(({ name }) => name)]);
  const all = useAddress(Object.fromEntries(filters.map(({ name }) => [name, null])));
  return (
    <form method="get" action={path} class="filters" aria-label={label}>
      {[...query].map(([name, value]) =>
        names.has(name) ? null : <input type="hidden" name={name} value={value} key={name} />,
      )}
      {filters.map(({ name, label, type = 'text', standard = '', options }) => (
        <label key={name} for={`filter-${name}`}>
          {label}
          {options ? (
            <select id={`filter-${name}`} name={name}>
              {options.map(([value, text]) => (
                <option key={value} value={value} selected={value === (query.get(name) ?? '')}>
                  {text}
                </option>
              ))}
            </select>
          ) : (
            <input
              id={`filter-${name}`}
              type={type as 'text'}
              name={name}
              value={query.get(name) ?? standard}
              maxLength={200}
            />
          )}
        </label>
      ))}
      <span class="inline">
        <button type="submit" class="small">
          Show
        </button>
        {filters.some(({ name }) => query.get(name)) && <a href={all}>Show all</a>}
      </span>
    </form>
  );
}

/** A value that chooses the rows that have it. */
export function FilterLink({ name, value, text = value }: { name: string; value: string; text?: string }) {
  return <a href={useAddress({ [name]: value })}>{text}</a>;
}

export function CsvLink() {
  return <a href={useAddress({ format: 'csv' })}>CSV</a>;
}

/** The filters of an address, without those that were left empty. */
export function filtersOf(query: ReadonlyMap<string, string>, names: readonly string[]): Map<string, string> {
  return new Map(
    names.flatMap((name) => {
      const value = query.get(name)?.trim();
      return value ? [[name, value] as const] : [];
    }),
  );
}

/** What was read, or the sentence that says what is wrong with a filter that was typed. */
export async function readFiltered<T>(read: () => Promise<T>): Promise<{ found?: T; problem?: string }> {
  try {
    return { found: await read() };
  } catch (error) {
    if (error instanceof GatewayError && ['invalid_input', 'not_found'].includes(error.code)) {
      // No page leads there.
      if (error.details?.some(({ field }) => field === 'before' || field === 'after'))
        throw new GatewayError('not_found');
      const details = error.details?.map(({ field, problem }) => `${field} ${problem}`).join('; ');
      return { problem: details ?? error.message };
    }
    throw error;
  }
}

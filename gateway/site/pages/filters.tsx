import { useContext } from 'preact/hooks';
import { GatewayError } from '../../errors.js';
import { toCsv } from '../../usage/csv.js';
import type { PageCall } from '../page.js';
import { Page } from './document.js';
import { type Column, Empty, Notice, Table, useAddress, ViewContext } from './elements.js';
import { Pager } from './lists.js';

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

export function CsvLink({ text = 'CSV' }: { text?: string }) {
  return <a href={useAddress({ format: 'csv' })}>{text}</a>;
}

const recordsShown = 50;
const recordsAsCsv = 1000;

interface Records<Row extends object> {
  title: string;
  lead: string;
  /** `tenant` is left out on the page of one. */
  filters: readonly Filter[];
  columns: readonly (Column<Row> | false)[];
  csvColumns: readonly string[];
  /** Said where there is none. */
  none: { title: string; text: string };
  /** Reads what the filters and the place in the list choose. */
  read(
    query: Record<string, string>,
    limit: number,
  ): Promise<{ rows: Row[]; next: string | number | null; previous: string | number | null }>;
}

/** A page of records that filters choose, newest first: of one tenant, or of all. */
export async function recordPage<Row extends object>(
  { query }: PageCall,
  tenant: string | undefined,
  { title, lead, filters: all, columns, csvColumns, none, read }: Records<Row>,
) {
  const asCsv = query.get('format') === 'csv';
  const filters = all.filter(({ name }) => name !== 'tenant' || tenant === undefined);
  const names = filters.map(({ name }) => name);
  const chosen = filtersOf(query, names);
  const asked = Object.fromEntries(filtersOf(query, [...names, 'after', 'before']));
  const { found, problem } = await readFiltered(() =>
    read({ ...asked, ...(tenant !== undefined && { tenant }) }, asCsv ? recordsAsCsv : recordsShown),
  );
  const { rows = [], next = null, previous = null } = found ?? {};
  if (asCsv && found) return { csv: { name: title.toLowerCase(), text: toCsv(csvColumns, rows) } };
  const page = (
    <Page tenant={tenant} title={tenant === undefined ? title : `${title} of ${tenant}`}>
      <div class="heading">
        {tenant === undefined ? null : <h2>{title}</h2>}
        <p class="quiet">
          {lead} <CsvLink text={`CSV of the newest ${recordsAsCsv.toLocaleString('en')}`} />
        </p>
      </div>
      <FilterForm label="Filters" filters={filters} />
      {problem && <Notice kind="bad">{problem}</Notice>}
      <Empty of={problem ? [problem] : rows} title={chosen.size > 0 ? 'Nothing matches' : none.title}>
        {none.text}
      </Empty>
      <Table
        label={`${title}, newest first`}
        rows={rows}
        columns={columns.filter((column) => column !== false)}
      />
      <Pager previous={textOf(previous)} next={textOf(next)} />
    </Page>
  );
  return problem ? { page, status: 400 } : page;
}

const textOf = (cursor: string | number | null) => (cursor === null ? null : String(cursor));

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

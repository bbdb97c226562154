import { type ComponentChildren, createContext, Fragment, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { emptyForm, type FormState } from '../page.js';
import type { Visitor } from '../state.js';

/** What every component of a page may need to know of the page. */
export interface View {
  visitor: Visitor;
  /** The request's path, to mark where in the navigation one is. */
  path: string;
  /** The query of the address as it was sent: lists keep their filters in it. */
  search: string;
  /** Wall clock, ms. */
  now: number;
  formToken: string;
  /** Whether the visitor's role may change what the page shows; forms are left out otherwise. */
  mayChange: boolean;
  /** What the page's forms hold. */
  form: FormState;
  /** A fresh mark for a form that may be sent once. */
  mark: () => string;
}

export const ViewContext = createContext<View>({
  visitor: undefined,
  path: '',
  search: '',
  now: 0,
  formToken: '',
  mayChange: true,
  form: emptyForm,
  mark: () => '',
});

/** The address of this page with other parameters; null removes one. The place in a list is not kept. */
export function useAddress(changes: Readonly<Record<string, string | null>>): string {
  const { path, search } = useContext(ViewContext);
  const query = new URLSearchParams(search);
  for (const name of ['after', 'before', 'done', 'saved']) query.delete(name);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A moment as seen from now, with the exact one on hover; with `exact` to the minute. `none` is shown for null. */
export function Moment(props: { at: string | number | null; exact?: boolean; none?: string }) {
  const { now } = useContext(ViewContext);
  const { at, exact, none = '–' } = props;
  if (at === null) return <span class="quiet">{none}</span>;
  const iso = new Date(at).toISOString();
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
  return (
    <time dateTime={iso} title={exact ? undefined : text}>
      {exact ? text : formatAgo(new Date(at).getTime() - now)}
    </time>
  );
}

const relative = new Intl.RelativeTimeFormat('en');
const units = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** A time from now in the unit that fits: "3 minutes ago", "in 5 days". */
export function formatAgo(ms: number): string {
  // A minute less one second is no reason for a smaller unit.
  const unit = units.find(([, length]) => Math.round(Math.abs(ms) / 1000) * 1000 >= length);
  return unit ? relative.format(Math.trunc(Math.round(ms / 1000) / (unit[1] / 1000)), unit[0]) : 'just now';
}

export function Notice(props: { kind: 'good' | 'warn' | 'bad'; children: ComponentChildren }) {
  return (
    <div class={`notice ${props.kind}`} role={props.kind === 'bad' ? 'alert' : 'status'}>
      {props.children}
    </div>
  );
}

/** Shown where a list is empty: why, and what to do. */
export function Empty(props: { of: readonly unknown[]; title: string; children: ComponentChildren }) {
  return props.of.length > 0 ? null : (
    <div class="empty">
      <p class="empty-title">{props.title}</p>
      <p>{props.children}</p>
    </div>
  );
}

/** One column of a table: its head, and its cell for each row. */
export interface Column<Row> {
  head: string;
  cell: (row: Row) => ComponentChildren;
  /** Numbers are aligned to the right. */
  number?: boolean;
  /** Of the cells, for the style sheet. */
  class?: string;
  /** Whether its cells name their rows. */
  rowHead?: boolean;
  /** Whether the head is for screen readers alone, above buttons and links that say what they do. */
  hiddenHead?: boolean;
  /** The name by which the address sorts the list by this column; its head is a link then. */
  sort?: string;
  /** 2 is left out on a phone, 3 on a tablet too. */
  priority?: 2 | 3;
}

/** How a list is sorted: by one of its columns' `sort`. */
export type Sorting = { by: string; order: 'asc' | 'desc' };

/**
 * A table; nothing where it has no rows. On a narrow screen cells wrap and columns of lower priority are left out; what is
 * wider still scrolls sideways by itself, and browsers let the keyboard scroll it.
 */
export function Table<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  sorting?: Sorting;
}) {
  const { label, rows, columns, sorting } = props;
  return rows.length === 0 ? null : (
    <section class="scroll" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.head} column={column} sorting={sorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map((column) =>
                column.rowHead ? (
                  <th scope="row" class={column.class} key={column.head}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td class={classOf(column, column.class)} key={column.head}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

type Shape = Pick<Column<never>, 'head' | 'number' | 'hiddenHead' | 'sort' | 'priority'>;

function classOf({ number, priority }: Shape, own?: string): string | undefined {
  return [number && 'number', priority && `priority-${priority}`, own].filter(Boolean).join(' ') || undefined;
}

/** A head by which the list can be sorted turns its order round once it is sorted by it; numbers and times begin with the largest. */
function Head({ column, sorting }: { column: Shape; sorting: Sorting | undefined }) {
  const { head, hiddenHead, number, sort } = column;
  const current = sort !== undefined && sorting?.by === sort ? sorting.order : undefined;
  const first = number || sort?.endsWith('_at') ? 'desc' : 'asc';
  const order = current ? (current === 'asc' ? 'desc' : 'asc') : first;
  const href = useAddress({ sort: sort ?? null, order });
  const aria = current === 'asc' ? 'ascending' : 'descending';
  return (
    <th scope="col" class={classOf(column)} aria-sort={current && aria}>
      {sort === undefined ? (
        hiddenHead ? (
          <span class="hidden">{head}</span>
        ) : (
          head
        )
      ) : (
        <a href={href}>{head}</a>
      )}
    </th>
  );
}

/** Facts of one thing, by name; those that are empty, null or false are left out. */
export function Facts({ facts }: { facts: Readonly<Record<string, ComponentChildren>> }) {
  return (
    <dl class="facts">
      {Object.entries(facts).map(
        ([name, fact]) =>
          fact && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{fact}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

/** Text to be copied; the button is there once the script is. */
export function CopyBox({ id, label, text }: { id: string; label: string; text: string }) {
  return (
    <div class="copy">
      <p class="copy-label">{label}</p>
      <pre id={id}>{text}</pre>
      <button type="button" class="small" data-copy={id} hidden>
        Copy<span class="hidden"> {label}</span>
      </button>
    </div>
  );
}

/** How each state looks, by the class of the style sheet. */
const stateLooks = {
  active: 'good',
  in_grace: 'warn',
  paused: 'warn',
  suspended: 'bad',
  expired: 'quiet',
  revoked: 'quiet',
  waiting: 'quiet',
  running: 'accent',
  done: 'good',
  failed: 'bad',
  cancelled: 'quiet',
} as const;

/** The state of a key, a tenant, a job or an item. */
export function State({ state }: { state: keyof typeof stateLooks }) {
  return <span class={`state ${stateLooks[state]}`}>{state.replace('_', ' ')}</span>;
}

export function Scopes({ scopes }: { scopes: readonly string[] | null }) {
  if (scopes === null) return <>every helper</>;
  return (
    <>
      {scopes.map((scope) => (
        <code key={scope} class="scope">
          {scope}
        </code>
      ))}
    </>
  );
}

export const { format: formatCount } = new Intl.NumberFormat('en');

/** A time in milliseconds, in the unit that fits. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const [length, unit] = ms < 120_000 ? [1000, 's'] : ms < 7_200_000 ? [60_000, 'min'] : [3_600_000, 'h'];
  return `${(ms / length).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ${unit}`;
}

/** Bytes in the unit that fits. */
export function formatBytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${(value / 1000 ** power).toLocaleString('en', { maximumFractionDigits: power ? 1 : 0 })} ${units[power]}`;
}

/** What only makes sense for somebody who may change what the page shows, such as a form with its heading. */
export function Changes({ children }: { children: ComponentChildren }) {
  return useContext(ViewContext).mayChange ? children : null;
}

/** A POST form with its token; `once` for one whose answer shows a secret, `own` for one that every role may send. */
export function Form(props: {
  action: string;
  once?: boolean;
  own?: boolean;
  class?: string;
  label?: string;
  role?: 'search';
  children: ComponentChildren;
}) {
  const { formToken, mark, mayChange } = useContext(ViewContext);
  if (!mayChange && !props.own) return null;
  return (
    <form method="post" action={props.action} class={props.class} role={props.role} aria-label={props.label}>
      <input type="hidden" name="_token" value={formToken} />
      {props.once && <input type="hidden" name="_once" value={mark()} />}
      {props.children}
    </form>
  );
}

type Passed =
  | 'placeholder'
  | 'required'
  | 'autocomplete'
  | 'min'
  | 'max'
  | 'step'
  | 'maxLength'
  | 'minLength';
interface FieldProps extends Pick<JSX.IntrinsicElements['input'], Passed> {
  name: string;
  label: string;
  hint?: string;
  type?: 'text' | 'email' | 'password' | 'date' | 'number';
  /** What it holds before anything was typed. */
  value?: string;
  /** As wide as the page, for long text. */
  wide?: boolean;
  /** Of a text with several lines. */
  rows?: number;
}

/** A labelled input with its hint and, beside it, what is wrong with it. A password that was typed is not sent back. */
export function Field(props: FieldProps) {
  const { name, label, hint, type = 'text', value = '', wide, rows, autocomplete = 'off', ...rest } = props;
  const state = useContext(ViewContext).form;
  const problem = state.problems[name];
  const text = type === 'password' ? '' : (state.values.get(name) ?? value);
  const described = [hint ? `${name}-hint` : '', problem ? `${name}-problem` : ''].filter(Boolean).join(' ');
  const common = {
    id: name,
    name,
    autocomplete,
    autocapitalize: 'none' as const,
    spellcheck: false,
    'aria-invalid': problem ? ('true' as const) : undefined,
    'aria-describedby': described || undefined,
  };
  return (
    <div class={`field${problem ? ' wrong' : ''}${wide ? ' wide' : ''}`}>
      <label for={name}>
        {label}
        {!rest.required && <span class="optional"> optional</span>}
      </label>
      {rows === undefined ? (
        // The types have one input for each kind; which one it is does not matter here.
        <input type={type as 'text'} value={text} {...rest} {...common} />
      ) : (
        <textarea rows={rows} required={rest.required} placeholder={rest.placeholder} {...common}>
          {text}
        </textarea>
      )}
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {problem && (
        <p class="problem" id={`${name}-problem`}>
          {problemSentence(label, problem)}
        </p>
      )}
    </div>
  );
}

/** Radio buttons as one question. */
export function Choices(props: {
  name: string;
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
}) {
  const { name, label, options } = props;
  const state = useContext(ViewContext).form;
  const chosen = state.values.get(name) ?? props.value;
  return (
    <fieldset>
      <legend>{label}</legend>
      <div class="choices">
        {options.map(([value, text]) => (
          <label class="choice" key={value}>
            <input type="radio" name={name} value={value} checked={value === chosen} /> {text}
          </label>
        ))}
      </div>
      {state.problems[name] && <p class="problem">{problemSentence(label, state.problems[name])}</p>}
    </fieldset>
  );
}

/** Problems read on from the field's name: "must be …", "is 5; it must …". */
function problemSentence(label: string, problem: string): string {
  return /^(is|has|must|names|may|was)\b/.test(problem) ? `${label} ${problem}.` : problem;
}

import { type ComponentChildren, createContext, Fragment, type JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { emptyForm, type FormState } from '../page.js';
import type { Visitor } from '../state.js';

/** What every component of a page may need to know of the page. */
export interface View {
  visitor: Visitor;
  /** The request's path, to mark where in the navigation one is. */
  path: string;
  formToken: string;
  /** What the page's forms hold. */
  form: FormState;
  /** A fresh mark for a form that may be sent once. */
  mark: () => string;
}

export const ViewContext = createContext<View>({
  visitor: undefined,
  path: '',
  formToken: '',
  form: emptyForm,
  mark: () => '',
});

/** A moment, to the minute and in UTC; the exact one is in its attribute. */
export function Moment({ at }: { at: string | number | null }) {
  if (at === null) return <span class="quiet">–</span>;
  const iso = new Date(at).toISOString();
  return <time dateTime={iso}>{`${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`}</time>;
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
interface Column<Row> {
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
}

/** A table that scrolls sideways by itself on a narrow screen, with the keyboard too; nothing where it has no rows. */
export function Table<Row>(props: { label: string; rows: readonly Row[]; columns: readonly Column<Row>[] }) {
  const { label, rows, columns } = props;
  return rows.length === 0 ? null : (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head, number, hiddenHead }) => (
              <th scope="col" class={number ? 'number' : undefined} key={head}>
                {hiddenHead ? <span class="hidden">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map(({ head, cell, number, rowHead, class: name }) =>
                rowHead ? (
                  <th scope="row" key={head}>
                    {cell(row)}
                  </th>
                ) : (
                  <td class={number ? 'number' : name} key={head}>
                    {cell(row)}
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

export function StateLabel({ state }: { state: 'active' | 'expired' | 'revoked' }) {
  return <span class={`state ${state}`}>{state}</span>;
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

/** A link to the next page of a list. */
export function NextPage({ href }: { href: string | null }) {
  return href === null ? null : (
    <p>
      <a class="button quiet-button" href={href}>
        Next page
      </a>
    </p>
  );
}

export const { format: formatCount } = new Intl.NumberFormat('en');

/** A time in milliseconds, in the unit that fits. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`;
}

/** Bytes in the unit that fits. */
export function formatBytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${(value / 1000 ** power).toLocaleString('en', { maximumFractionDigits: power ? 1 : 0 })} ${units[power]}`;
}

/** A POST form with its token; `once` for one whose answer shows a secret. */
export function Form(props: {
  action: string;
  once?: boolean;
  class?: string;
  label?: string;
  children: ComponentChildren;
}) {
  const { formToken, mark } = useContext(ViewContext);
  return (
    <form method="post" action={props.action} class={props.class} aria-label={props.label}>
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

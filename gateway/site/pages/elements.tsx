import type { ComponentChildren } from 'preact';

/** A moment, to the minute and in UTC; the exact one stands in its attribute. */
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

/** What stands where there is nothing yet: why, and what to do. */
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A table that scrolls sideways by itself on a narrow screen, with the keyboard too. */
export function Table(props: { label: string; head: ComponentChildren; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section class="scroll" aria-label={props.label} tabIndex={0}>
      <table>
        <thead>
          <tr>{props.head}</tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </section>
  );
}

/** Text to be copied; the button is there once the script is. */
export function Copy({ id, label, text }: { id: string; label: string; text: string }) {
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

export function State({ state }: { state: 'active' | 'expired' | 'revoked' }) {
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

/** The way to the next page of a list. */
export function Next({ href }: { href: string | null }) {
  return href === null ? null : (
    <p>
      <a class="button quiet-button" href={href}>
        Next page
      </a>
    </p>
  );
}

const numbers = new Intl.NumberFormat('en');

export function count(value: number): string {
  return numbers.format(value);
}

/** A time in milliseconds, in the unit that fits. */
export function duration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toLocaleString('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`;
}

/** Bytes in the unit that fits. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${(value / 1000 ** power).toLocaleString('en', { maximumFractionDigits: power ? 1 : 0 })} ${units[power]}`;
}

import { addressOf } from '../address.js';

/** What stands where there is no such helper. */
export function UnknownHelper({ name, near }: { name: string; near: string | undefined }) {
  return (
    <section class="narrow">
      <h1>No such helper</h1>
      <p>
        <code>{name.slice(0, 100)}</code> is not served here.
      </p>
      {near !== undefined && (
        <p>
          Did you mean <a href={addressOf(near)}>{near}</a>?
        </p>
      )}
      <p>
        <a class="button" href="/">
          All helpers
        </a>
      </p>
    </section>
  );
}

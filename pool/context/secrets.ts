import type { Thrown } from '../thrown.js';

/** Takes secret values out of what is told of a plugin's doings. */
export interface Redactor {
  text(text: string): string;
  thrown(thrown: Thrown): Thrown;
}

/** Shorter values stand in many a text by chance. */
const shortest = 4;
const mark = '[secret]';

/** Knows these values again as they are, and as JSON writes them. Undefined where there is nothing to be hidden. */
export function createRedactor(secrets: readonly string[]): Redactor | undefined {
  const hidden = secrets.filter(({ length }) => length >= shortest);
  if (hidden.length === 0) return undefined;
  const forms = [...new Set(hidden.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  // The longest first, for one may be part of another.
  forms.sort((a, b) => b.length - a.length);
  const text = (given: string) => forms.reduce((left, form) => left.replaceAll(form, mark), given);
  return {
    text,
    thrown: (thrown) =>
      JSON.parse(JSON.stringify(thrown), (_, value) => (typeof value === 'string' ? text(value) : value)),
  };
}

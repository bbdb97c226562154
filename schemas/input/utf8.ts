import type { FieldProblem } from '../field-problem.js';

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The text of a body or a field, or the problem where its bytes are not UTF-8. */
export function readUtf8(
  bytes: Uint8Array,
  field = 'body',
): { value: string } | { problems: FieldProblem[] } {
  try {
    return { value: decoder.decode(bytes) };
  } catch {
    return { problems: [{ field, problem: 'must be UTF-8 text' }] };
  }
}

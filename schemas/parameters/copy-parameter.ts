import { mismatch } from '../explain-errors.js';
import { followReference, type JsonSchema } from '../json-schema.js';
import { describeBriefly } from '../vocabulary/describe.js';
import { type Copied, copyJson } from './copy.js';
import { formsOf } from './forms.js';

/**
 * A copy of what was sent for a parameter, or why it is refused before the schema judges it: null, and what is so long that to
 * judge it would cost more than it can be worth.
 */
export function copyParameter(declared: JsonSchema, value: unknown, root: JsonSchema): Copied {
  const schema = followReference(declared, root);
  if (value === null) return { ok: false, problem: nullProblem(schema, root) };
  const { maxLength, maxItems } = schema;
  // A plugin's `pattern` must not get to see what its `maxLength` refuses: ajv tries them all.
  if (typeof value === 'string' && typeof maxLength === 'number' && value.length > 2 * maxLength) {
    const problem = `must be ${describeBriefly(schema, root)}, but has more than ${2 * maxLength} characters`;
    return { ok: false, problem };
  }
  if (Array.isArray(value) && typeof maxItems === 'number' && value.length > maxItems) {
    // Nor its `uniqueItems`, which compares each with each.
    return { ok: false, problem: `must be ${describeBriefly(schema, root)}, but has ${value.length}` };
  }
  return copyJson(value, typeof maxItems === 'number' ? maxItems : 0);
}

/** A parameter that is null is refused whatever its schema says: no query could say the same. */
function nullProblem(schema: JsonSchema, root: JsonSchema): string {
  const takesNull = formsOf(schema, root, '').some(({ type }) => type === 'null');
  return takesNull ? 'must not be null; leave it out instead' : mismatch(schema, null, root);
}

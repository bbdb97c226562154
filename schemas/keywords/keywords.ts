import type { JsonSchema } from '../json-schema.js';
import { choice, encodable } from './choice.js';
import { color } from './color.js';
import { day } from './day.js';
import { drawable } from './drawable.js';
import { fraction } from './fraction.js';
import { future, moment } from './future.js';
import type { Abilities, AnyKeyword } from './keyword.js';
import { line } from './line.js';
import { measure } from './measure.js';
import { onlyWith } from './only-with.js';
import { scopes } from './scopes.js';

/** The keywords that plugins may use. `encodable` follows `choice`, whose normal form it validates. */
export const helperKeywords: readonly AnyKeyword[] = [
  color,
  choice,
  fraction,
  measure,
  drawable,
  encodable,
  onlyWith,
];

/** Those of the administration's own schemas besides. */
export const adminKeywords: readonly AnyKeyword[] = [line, day, future, moment, scopes];

const keywords = [...helperKeywords, ...adminKeywords];
const names = new Set(keywords.map(({ name }) => name));

/** Whether a problem with this keyword is worded by the keyword itself. */
export function isOwnKeyword(name: string): boolean {
  return names.has(name);
}

/** What the first of a schema's own keywords that has an answer says; `setting` is that keyword's. */
export function askKeywords<Answer>(
  schema: JsonSchema,
  ask: (keyword: AnyKeyword, setting: never) => Answer | undefined,
): Answer | undefined {
  for (const keyword of keywords) {
    const setting = schema[keyword.name];
    if (setting === undefined || !keyword.accepts(setting)) continue;
    const answer = ask(keyword, setting as never);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** The schema without own keywords, and without the words that stand in for them. */
export function withoutOwnKeywords(schema: JsonSchema): JsonSchema {
  const plain = Object.entries(schema).filter(([name]) => name !== 'form' && !isOwnKeyword(name));
  return Object.fromEntries(plain);
}

/**
 * The schema in plain JSON Schema for other programs: it accepts all that the own keywords accept, and refuses what JSON Schema has
 * words for. The schemas inside of it are left as they are.
 */
export function toStandard(schema: JsonSchema, abilities: Abilities = {}): JsonSchema {
  const { nullable, ...plain } = withoutOwnKeywords(schema);
  if (nullable === true && plain.type !== undefined) {
    plain.type = [...new Set([plain.type, 'null'].flat())];
  }
  return askKeywords(schema, (keyword, setting) => keyword.standard?.(setting, plain, abilities)) ?? plain;
}

import fc from 'fast-check';
import type { DeclaredHelper, FileField } from '../../../../schemas/declared-helper.js';
import { asSchema, type JsonSchema } from '../../../../schemas/json-schema.js';
import { uploadsOf } from '../../../../schemas/parameters.js';
import { onlyWithOf } from '../../../../schemas/vocabulary/only-with.js';
import { valuesOf } from './values.js';

/** One generated call. */
export interface GeneratedCall {
  input: Record<string, unknown>;
  /** File fields that bring a file. */
  files: string[];
}

/** What a measure, a colour or a number may be taken for. */
const slips = ['auto', '5%', '100.5%', '20px', -1, 1.5];

/** Calls of a helper: most as its schema says, some with a mistake in one place, some rehearsed. */
export function callsOf({ input: schema, examples, files }: DeclaredHelper): fc.Arbitrary<GeneratedCall> {
  const right = valuesOf(schema).map((value) => ({ ...asSchema(value) }));
  const known = examples.map(({ input }) => ({ ...input }));
  const base =
    known.length > 0 ? fc.oneof({ weight: 4, arbitrary: right }, fc.constantFrom(...known)) : right;
  const names = [...Object.keys(asSchema(schema.properties)), 'unknown-name'];
  const slip = fc.oneof(
    { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 1, arbitrary: fc.constantFrom(...slips) },
  );
  const wrong = fc
    .tuple(base, fc.constantFrom(...names), fc.option(slip, { nil: undefined }))
    // What is undefined is left out.
    .map(([input, name, value]) => ({ ...input, [name]: value }));
  const rehearsed = fc.oneof(base, wrong).map((input) => ({ ...input, dryrun: true }));
  const input = fc.oneof(
    { weight: 7, arbitrary: base },
    { weight: 2, arbitrary: wrong },
    { weight: 1, arbitrary: rehearsed },
    ...idleIn(schema, base).map((arbitrary) => ({ weight: 1, arbitrary })),
  );
  const others = files.filter(({ required, insteadOf }) => !required && insteadOf === undefined);
  return fc
    .record({ input, more: fc.subarray(others.map(({ field }) => field)) }, { noNullPrototype: true })
    .map(({ input: each, more }) => {
      const uploads = [...new Set([...uploadsOf(files, each), ...more])].filter((field) => !(field in each));
      return { input: fitting(each, files, uploads), files: uploads };
    });
}

/** The input without what means nothing beside the files that come, or without those that do not. */
function fitting(
  input: object,
  files: readonly FileField[],
  uploads: readonly string[],
): Record<string, unknown> {
  const idle = files.flatMap(({ field, parameter, notWith = [], options = [] }) =>
    uploads.includes(field) || parameter in input ? notWith : options,
  );
  return Object.fromEntries(Object.entries(input).filter(([name]) => !idle.includes(name)));
}

/** Where parameters go with others alone: right but for one of them, which may make no sense there. */
function idleIn(
  schema: JsonSchema,
  base: fc.Arbitrary<Record<string, unknown>>,
): fc.Arbitrary<Record<string, unknown>>[] {
  const properties = asSchema(schema.properties);
  return [...onlyWithOf(schema).keys()].map((name) =>
    fc
      .tuple(base, valuesOf(asSchema(properties[name]), schema))
      .map(([input, value]) => ({ ...input, [name]: value })),
  );
}

import type { Ajv, ValidateFunction } from 'ajv';
import { toProblems } from './explain-errors.js';
import { boundProblems, type FieldProblem } from './field-problem.js';
import { type JsonSchema, typesOf } from './json-schema.js';
import { dayKeyword } from './keywords/day.js';
import { futureKeyword } from './keywords/future.js';
import { lineKeyword } from './keywords/line.js';
import { scopesKeyword } from './keywords/scopes.js';
import { nearest } from './nearest.js';
import { createCoerce } from './parameters/coerce.js';
import { type Copied, checkNamed, copyParameter } from './parameters/named-values.js';
import { addKeyword, createVocabulary } from './vocabulary.js';

interface AdminVocabularyOptions {
  /** What `scopes: true` takes; asked at each judgement, for helpers may come and go. */
  knownScopes: () => readonly string[];
  /** Wall clock, ms, for `future: true`. */
  now: () => number;
}

/**
 * The validator for what the administration of keys takes: the helpers' vocabulary, and with it `line`, `day`, `future` and
 * `scopes`. `form` says what is allowed where words say it better than the rules, such as a pattern; it judges nothing. Made when it
 * is first asked for: a start judges nothing by it.
 */
export function createAdminVocabulary(options: AdminVocabularyOptions): () => Ajv {
  let made: Ajv | undefined;
  return () => {
    made ??= createAdminAjv(options);
    return made;
  };
}

function createAdminAjv({ knownScopes, now }: AdminVocabularyOptions): Ajv {
  const ajv = createVocabulary({ own: true });
  for (const keyword of [lineKeyword, dayKeyword, futureKeyword(now), scopesKeyword(knownScopes)]) {
    addKeyword(ajv, keyword);
  }
  ajv.addKeyword({ keyword: 'form', schemaType: 'string', valid: true });
  return ajv;
}

/** The fields of one flat object, such as a JSON body or a query. */
export interface FieldsSchema {
  properties: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
}

interface CheckedFields<T> {
  /** A fresh object with its defaults; to be used only where there is no problem. */
  value: T;
  /** Every problem at once, at most 51. */
  problems: FieldProblem[];
}

/** A compiled schema of fields; `T` is what it lets pass. */
export interface Fields<T> {
  readonly schema: FieldsSchema;
  /** Texts of a query, each as the type that its field declares; unknown names and misfits stay text. */
  coerce(texts: ReadonlyMap<string, string>): Record<string, unknown>;
  /** Judges JSON values without any coercion; what is undefined is left out. Neither throws nor changes what it is given. */
  check(given: object): CheckedFields<T>;
}

/** Makes a judge of flat fields. The schema is compiled when something is first judged: a start has a use for none of them. */
export function compileFields<T>(vocabulary: () => Ajv, schema: FieldsSchema): Fields<T> {
  const { properties } = schema;
  const names = Object.keys(properties);
  const schemas = new Map(Object.entries(properties));
  let validate: ValidateFunction | undefined;
  const coercers = new Map(names.map((name) => [name, createCoerce(properties[name] ?? {}, {})]));

  function judge(taken: object): FieldProblem[] {
    validate ??= vocabulary().compile({ type: 'object', ...schema, additionalProperties: false });
    return validate(taken) ? [] : toProblems(validate.errors ?? []);
  }

  return {
    schema,
    coerce(texts) {
      return Object.fromEntries(
        Array.from(texts, ([name, text]) => [name, coercers.get(name)?.(text) ?? text]),
      );
    },
    check(given) {
      const { values, judged, unknown, unknownCount } = checkNamed(given, {
        schemas,
        take: copyField,
        unknown: (name) => unknownField(name, names),
        judge,
      });
      const problems = boundProblems([...judged, ...unknown], judged.length + unknownCount);
      return { value: values as T, problems };
    },
  };
}

/** As a parameter is taken, but that null may mean something: back to the default. */
function copyField(schema: JsonSchema, value: unknown): Copied {
  if (value !== null) return copyParameter(schema, value, {});
  return typesOf(schema).includes('null')
    ? { ok: true, value }
    : { ok: false, problem: 'is null; leave it out instead' };
}

function unknownField(name: string, names: readonly string[]): string {
  if (names.length === 0) return 'is not known here; nothing is taken';
  const near = nearest(name, names);
  return `is not known; known are ${names.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

/**
 * The schema as plain JSON Schema, for documents that other programs read: each keyword of the administration's vocabulary
 * becomes what comes nearest to it.
 */
export function standardSchema(schema: JsonSchema, knownScopes: readonly string[]): JsonSchema {
  const { form: _form, future: _future, line, day, scopes, ...standard } = schema;
  return {
    ...standard,
    ...(typeof line === 'number' && { minLength: 1, maxLength: line }),
    ...(day === true && { format: 'date' }),
    ...(scopes === true && {
      items: { type: 'string', ...(knownScopes.length > 0 && { enum: knownScopes }) },
    }),
  };
}

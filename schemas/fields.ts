import type { Ajv, ValidateFunction } from 'ajv';
import { toProblems } from './explain-errors.js';
import { boundProblems, type FieldProblem } from './field-problem.js';
import { type JsonSchema, typesOf } from './json-schema.js';
import { nearest } from './nearest.js';
import { type Copied, checkNamed, copyParameter, createCoerce } from './parameters/coerce.js';

/** The fields of one flat object, such as a JSON body or a query. */
export interface FieldsSchema {
  properties: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
}

/** A compiled schema of fields; `T` is what it lets pass. */
export type Fields<T> = ReturnType<typeof compileFields<T>>;

/** Compiles a schema of flat fields, on first use: a start needs none of them. */
export function compileFields<T>(vocabulary: () => Ajv, schema: FieldsSchema) {
  const { properties } = schema;
  const names = Object.keys(properties);
  const schemas = new Map(Object.entries(properties));
  let validate: ValidateFunction | undefined;
  const coercers = new Map(names.map((name) => [name, createCoerce(properties[name] ?? {}, {})]));

  return {
    schema,
    /** Texts of a query, each as the type that its field declares; unknown names and misfits stay text. */
    coerce(texts: ReadonlyMap<string, string>): Record<string, unknown> {
      const values = Array.from(texts, ([name, text]) => [name, coercers.get(name)?.(text) ?? text]);
      return Object.fromEntries(values);
    },
    /**
     * Validates JSON values without coercion; what is undefined is left out. Neither throws nor changes what it is given. The value is
     * a fresh object with its defaults, to be used only where there is no problem; problems come all at once, at most 51.
     */
    check(given: object): { value: T; problems: FieldProblem[] } {
      const { values, known, unknown } = checkNamed(given, {
        schemas,
        copy: copyField,
        unknown: (name) => unknownField(name, names),
        validate(named) {
          validate ??= vocabulary().compile({ type: 'object', ...schema, additionalProperties: false });
          return validate(named) ? [] : toProblems(validate.errors ?? []);
        },
      });
      return { value: values as T, problems: boundProblems([...known, ...unknown]) };
    },
  };
}

/** As `copyParameter`, but null may mean something: back to the default. */
function copyField(schema: JsonSchema, value: unknown): Copied {
  if (value !== null) return copyParameter(schema, value, {});
  return typesOf(schema).includes('null') ? { value } : { problem: 'is null; leave it out instead' };
}

function unknownField(name: string, names: readonly string[]): string {
  if (names.length === 0) return 'is not known here; nothing is taken';
  const near = nearest(name, names);
  return `is not known; known are ${names.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

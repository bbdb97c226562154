import type { Ajv, ValidateFunction } from 'ajv';
import { asSchema, type JsonSchema } from './json-schema.js';
import { didYouMean } from './nearest.js';
import { type Coerce, createCoerce } from './parameters/coerce.js';
import { copyJson } from './parameters/copy.js';
import { dryrunParameter, urlParameter } from './parameters/gateway-parameters.js';
import { liftRequired } from './parameters/lift-required.js';
import { sourceProblems } from './parameters/source.js';
import type { FieldProblem } from './problem.js';
import { boundProblems, mismatch, toldProblems, toProblems } from './problems.js';
import { fieldName, quote } from './quote.js';
import { describeProperty } from './vocabulary/describe.js';

/** What of a plugin's declaration says which parameters it takes. */
export interface ParameterDeclaration {
  input: unknown;
  source?: 'image' | undefined;
  examples?: readonly { summary?: string; input: Record<string, unknown> }[] | undefined;
}

/** One parameter, for documentation and the command line. */
export interface ParameterProperty {
  name: string;
  schema: JsonSchema;
  required: boolean;
  /** What is allowed, as a noun: `an integer from 0 to 5000`. */
  allowed: string;
}

export interface CheckOptions {
  dryrun: boolean;
  /** Whether a file was uploaded in the multipart field `file`. */
  hasFile: boolean;
}

export interface CheckedInput {
  /** A fresh object in normal form, with defaults and without `dryrun`; to be used only where there is no problem. */
  input: Record<string, unknown>;
  /** Every problem at once, at most 51. */
  problems: FieldProblem[];
}

export interface ParameterChecker {
  /** In the order of the documentation: `url`, the helper's own, `dryrun`. */
  properties: readonly ParameterProperty[];
  /** The text of a query or form value as the type that the parameter declares; unknown names and misfits stay text. */
  coerce(name: string, text: string): unknown;
  /** Judges JSON values, without any coercion. Neither throws nor changes what it is given. */
  check(input: Record<string, unknown>, options: CheckOptions): CheckedInput;
}

/**
 * Compiles a helper's parameters, once at the start. Throws an `Error` with the reason where the schema is not valid in
 * ajv's strict mode, or refuses one of its own defaults or examples.
 */
export function compileParameters(ajv: Ajv, declaration: ParameterDeclaration): ParameterChecker {
  const schema = closeSchema(declaration);
  const checker = createChecker(ajv, schema, declaration.source === 'image');
  declaration.examples?.forEach((example, index) => {
    const isDryrun = example.input.dryrun === true;
    const hasFile = declaration.source === 'image' && !isDryrun && !Object.hasOwn(example.input, 'url');
    const { problems } = checker.check(example.input, { dryrun: isDryrun, hasFile });
    const name = `example ${index + 1}${example.summary === undefined ? '' : ` (${quote(example.summary)})`}`;
    if (problems.length > 0) throw new Error(`${name} is refused by its own schema: ${list(problems)}`);
  });
  return checker;
}

function closeSchema({ input, source }: ParameterDeclaration): JsonSchema {
  // A `$id` would be there twice, for the schema is compiled with and without its `required`.
  const { $id: _, ...schema } = asSchema(input);
  return {
    ...schema,
    properties: {
      ...(source === 'image' ? { url: urlParameter } : {}),
      ...asSchema(schema.properties),
      dryrun: dryrunParameter,
    },
    additionalProperties: false,
  };
}

function createChecker(ajv: Ajv, schema: JsonSchema, takesImage: boolean): ParameterChecker {
  const validate = compile(ajv, schema);
  const validateDryrun = compile(ajv, liftRequired(schema));
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const properties = Object.entries(asSchema(schema.properties)).map(([name, value]): ParameterProperty => {
    const property = asSchema(value);
    return { name, schema: property, required: required.has(name), allowed: describeProperty(property) };
  });
  const known = new Map(properties.map((property) => [property.name, property]));
  const names = [...known.keys()];
  const coercers = new Map<string, Coerce>(
    names.map((name) => [name, createCoerce(asSchema(known.get(name)?.schema), schema)]),
  );
  for (const name of required) {
    if (!known.has(String(name)))
      throw new Error(`input is not a valid schema: ${name} is required but not a property`);
  }
  checkDefaults(validateDryrun, properties);

  function check(input: Record<string, unknown>, { dryrun, hasFile }: CheckOptions): CheckedInput {
    const values: Record<string, unknown> = {};
    const judged: FieldProblem[] = [];
    const unknown: FieldProblem[] = [];
    let unknownCount = 0;
    for (const name of Object.keys(input)) {
      const property = known.get(name);
      if (property === undefined) {
        unknownCount += 1;
        if (unknownCount <= toldProblems) unknown.push(unknownParameter(name, names, takesImage));
        continue;
      }
      const value = input[name];
      if (value === undefined) continue;
      const copied = copyParameter(property, value);
      if (copied.ok) values[name] = copied.value;
      else judged.push({ field: name, problem: copied.problem });
    }
    const validator = dryrun ? validateDryrun : validate;
    if (!validator(values)) {
      const refused = new Set(judged.map(({ field }) => field));
      judged.push(...toProblems(validator.errors ?? []).filter(({ field }) => !refused.has(field)));
    }
    judged.push(...sourceProblems(Object.hasOwn(input, 'url'), hasFile, dryrun, takesImage));
    delete values.dryrun;
    const problems = boundProblems([...judged, ...unknown], judged.length + unknownCount);
    return { input: values, problems };
  }

  return {
    properties,
    coerce: (name, text) => coercers.get(name)?.(text) ?? text,
    check,
  };
}

function compile(ajv: Ajv, schema: JsonSchema): ValidateFunction {
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new Error(
      `input is not a valid schema: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  }
}

function checkDefaults(validate: ValidateFunction, properties: readonly ParameterProperty[]): void {
  if (validate({})) return;
  const defaulted = properties.filter(({ schema }) => 'default' in schema).map(({ name }) => name);
  const refused = toProblems(validate.errors ?? []).filter(({ field }) =>
    defaulted.some((name) => field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`)),
  );
  if (refused.length > 0) throw new Error(`a default is refused by its own schema: ${list(refused)}`);
}

function copyParameter({ schema }: ParameterProperty, value: unknown) {
  if (value === null) return { ok: false as const, problem: mismatch(schema, null) };
  const { maxLength, maxItems } = schema;
  // A plugin's `pattern` must not get to see what its `maxLength` refuses: ajv tries them all.
  if (typeof value === 'string' && typeof maxLength === 'number' && value.length > 2 * maxLength) {
    const problem = `must be ${describeProperty(schema)}, but has more than ${2 * maxLength} characters`;
    return { ok: false as const, problem };
  }
  if (Array.isArray(value) && typeof maxItems === 'number' && value.length > maxItems) {
    // Nor its `uniqueItems`, which compares each with each.
    return { ok: false as const, problem: `must be ${describeProperty(schema)}, but has ${value.length}` };
  }
  return copyJson(value, typeof maxItems === 'number' ? maxItems : 0);
}

function unknownParameter(name: string, names: readonly string[], takesImage: boolean): FieldProblem {
  const field = fieldName(name);
  if (name === 'file' && takesImage) {
    return { field, problem: 'must be uploaded as a file, in a multipart/form-data body' };
  }
  const hint = didYouMean(name, names);
  const problem = hint === '' ? `; it takes ${names.join(', ')}` : hint;
  return { field, problem: `is not a parameter of this helper${problem}` };
}

function list(problems: readonly FieldProblem[]): string {
  return problems.map(({ field, problem }) => `${field} ${problem}`).join('; ');
}

import type { Ajv, ValidateFunction } from 'ajv';
import type { FileField } from '../declared-helper.js';
import { toProblems } from '../explain-errors.js';
import type { FieldProblem } from '../field-problem.js';
import { asSchema, type JsonSchema, subschemas } from '../json-schema.js';
import type { CheckValues } from '../keywords/keyword.js';
import { onlyWithFaults, withConditions } from '../keywords/only-with.js';
import { compileChecked } from '../vocabulary.js';
import type { FitsAt } from './coerce.js';
import { dryrunParameter, fileParameter, ownParameter } from './gateway-parameters.js';
import { copyParameter } from './named-values.js';
import { closeNested, liftRequired, tagAlternatives } from './rewrite.js';
import { hasEndlessReference, jsonFaults, schemaFaults } from './schema-faults.js';

/** The root is known by it only while a schema inside of it is compiled. */
const rootId = 'urn:helper-gateway:parameters';

/** Judges by the schemas inside of `root`, each compiled with the first text that asks: few calls ever bring one. */
function createFitsAt(ajv: Ajv, root: JsonSchema): FitsAt {
  function compile(pointer: string): ValidateFunction {
    try {
      ajv.addSchema(root, rootId);
      return ajv.compile({ type: 'object', properties: { value: { $ref: `${rootId}#${pointer}` } } });
    } finally {
      ajv.removeSchema(rootId);
    }
  }
  return (schema, pointer) => {
    let validate: ValidateFunction | undefined;
    return (value) => {
      const copied = copyParameter(schema, value, root);
      if (!copied.ok) return false;
      validate ??= compile(pointer);
      return validate({ value: copied.value });
    };
  };
}

/** A judge that is compiled when it is first asked, or before by `prepare`. */
type PreparedCheck = CheckValues & { prepare(): void };

/** A helper's schema, ready to judge by. */
export interface CompiledSchema {
  /** The plugin's, with the gateway's own parameters: for documentation. */
  declared: JsonSchema;
  /** The same, closed: what is judged by. */
  closed: JsonSchema;
  judge: PreparedCheck;
  /** With what is required lifted. */
  judgeDryrun: PreparedCheck;
  fitsAt: FitsAt;
}

/** A schema that cannot be judged by; `faults` are all that is wrong with it, each with its place. */
class SchemaError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[], cause?: unknown) {
    const [first = '', ...others] = faults;
    const list = others.length > 0 ? ['', ...faults].join('\n  ') : ` ${first}`;
    super(`input is not a valid schema:${list}`, { cause });
    this.faults = faults;
  }
}

/**
 * Compiles the schema of a plugin's input; throws a `SchemaError`. What judges dry runs is compiled when it is first asked, and of a
 * schema that is plain, or `checked` already, the other judge too.
 */
export function compileSchema(
  ajv: Ajv,
  declaration: { input: unknown; files?: readonly FileField[] | undefined },
  checked = false,
): CompiledSchema {
  const given = asSchema(declaration.input);
  const unreadable = checked ? [] : jsonFaults(given, 'input');
  if (unreadable.length > 0) throw new SchemaError(unreadable);
  const declared = withGatewayParameters(declaration);
  const faultsOf = () => [
    ...schemaFaults(ajv, given, 'input'),
    ...undeclared(declared),
    ...onlyWithFaults(given),
  ];
  if (!checked && hasEndlessReference(given)) throw new SchemaError(faultsOf());
  try {
    const closed = closeNested(declared);
    const compile = (schema: JsonSchema) => (checked ? compileChecked(ajv, schema) : ajv.compile(schema));
    const judge = createCheck(() => tagAlternatives(closed), compile);
    const judgeDryrun = createCheck(() => tagAlternatives(liftRequired(closed)), compile);
    if (!checked) {
      if (!isPlain(ajv, closed)) judge.prepare();
      // Elsewhere what is required is left out of the same schema, which breaks nothing.
      if (branchKeywords.some((keyword) => keyword in closed)) judgeDryrun.prepare();
      const faults = [...undeclared(declared), ...onlyWithFaults(given, judgeDryrun)];
      if (faults.length > 0) throw new SchemaError(faults);
    }
    return { declared, closed, judge, judgeDryrun, fitsAt: createFitsAt(ajv, closed) };
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    const faults = faultsOf();
    // What shows in the whole only, ajv has said in its own words.
    if (faults.length === 0) faults.push(error instanceof Error ? error.message : String(error));
    throw new SchemaError(faults, error);
  }
}

/** Keywords that ajv accepts wherever the meta-schema does and the type is theirs. */
const plainKeywords = new Set([
  'type',
  'title',
  'description',
  'const',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'items',
  'minItems',
  'maxItems',
  'uniqueItems',
  'properties',
  'required',
  'additionalProperties',
  'minProperties',
  'maxProperties',
]);
/** Past this ajv may find a schema too large to be compiled. */
const mostPlainParts = 200;

/**
 * Whether ajv is sure to compile a schema, so that a start need not, which costs a millisecond for each: every part of it has one type
 * and plain keywords of that type, and the meta-schema accepts it.
 */
function isPlain(ajv: Ajv, root: JsonSchema): boolean {
  const parts = [root];
  for (const part of parts) {
    const { type, items } = part;
    if (typeof type !== 'string' || Array.isArray(items)) return false;
    const ofType = ajv.RULES.rules.find((group) => group.type === (type === 'integer' ? 'number' : type));
    const isOfType = (keyword: string) =>
      !ajv.RULES.rules.some((group) => group.type && group !== ofType && hasRule(group, keyword));
    if (!Object.keys(part).every((keyword) => plainKeywords.has(keyword) && isOfType(keyword))) return false;
    parts.push(...subschemas(part).map(({ schema }) => schema));
    if (parts.length > mostPlainParts) return false;
  }
  return ajv.validateSchema(root) === true;
}

function hasRule({ rules }: Ajv['RULES']['rules'][number], name: string): boolean {
  return rules.some(({ keyword }) => keyword === name);
}

/** All that is wrong with the schema in a declaration that is wrong in other ways too, but for its type. */
export function inputFaults(ajv: Ajv, input: JsonSchema): readonly string[] {
  try {
    compileSchema(ajv, { input: { ...input, type: 'object' } });
    return [];
  } catch (error) {
    if (error instanceof SchemaError) return error.faults;
    throw error;
  }
}

/** Where lifting what is required makes a schema of another form. */
const branchKeywords = ['allOf', 'anyOf', 'oneOf', 'then', 'else'];

function createCheck(
  schemaOf: () => JsonSchema,
  compile: (schema: JsonSchema) => ValidateFunction,
): PreparedCheck {
  let compiled: { schema: JsonSchema; validate: ValidateFunction } | undefined;
  function prepare() {
    if (!compiled) {
      const schema = schemaOf();
      compiled = { schema, validate: compile(schema) };
    }
    return compiled;
  }
  const judge: CheckValues = (values, context) => {
    const { schema, validate } = prepare();
    return validate.call(context as never, values) ? [] : toProblems(validate.errors ?? [], schema);
  };
  return Object.assign(judge, { prepare });
}

function withGatewayParameters({
  input,
  files = [],
}: {
  input: unknown;
  files?: readonly FileField[] | undefined;
}): JsonSchema {
  // A `$id` would be there twice, for the schema is compiled with and without its `required`.
  const { $id: _, ...schema } = asSchema(input);
  const own = Object.entries(withConditions(schema));
  return {
    ...schema,
    properties: {
      ...Object.fromEntries(files.map((file) => [file.parameter, fileParameter(file)])),
      ...Object.fromEntries(own.map(([name, each]) => [name, ownParameter(name, each, files)])),
      dryrun: dryrunParameter,
    },
    additionalProperties: false,
  };
}

function undeclared({ required, properties }: JsonSchema): string[] {
  const names: unknown[] = Array.isArray(required) ? required : [];
  return names
    .filter((name) => typeof name === 'string' && !Object.hasOwn(asSchema(properties), name))
    .map((name) => `input.required: ${name} is required but not a property (#/required)`);
}

/** Judges an answer's data; empty where it is as declared. What it is given stays as it is. */
export type CheckOutput = (data: object) => FieldProblem[];

/**
 * Compiles the schema of a helper's answers. Closed as parameters are: a field that is not declared is one that its readers do not
 * know of. Throws an `Error` with all that is wrong with it.
 */
export function compileOutput(ajv: Ajv, output: JsonSchema): CheckOutput {
  const unreadable = jsonFaults(output, 'output');
  if (unreadable.length > 0) throw outputError(unreadable);
  if (hasEndlessReference(output)) throw outputError(schemaFaults(ajv, output, 'output'));
  const { $id: _, ...schema } = tagAlternatives(closeNested(output));
  try {
    const validate = ajv.compile(schema);
    // A copy, for defaults and normal forms are written into what is judged.
    return (data) => (validate(structuredClone(data)) ? [] : toProblems(validate.errors ?? [], schema));
  } catch (error) {
    const faults = schemaFaults(ajv, output, 'output');
    throw outputError(
      faults.length > 0 ? faults : [error instanceof Error ? error.message : String(error)],
      error,
    );
  }
}

function outputError(faults: readonly string[], cause?: unknown): Error {
  return new Error(`output is not a valid schema: ${faults.join('\n')}`, { cause });
}

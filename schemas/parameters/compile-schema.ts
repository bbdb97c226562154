import type { Ajv } from 'ajv';
import type { FileField } from '../declared-helper.js';
import { toProblems } from '../explain-errors.js';
import { asSchema, type JsonSchema } from '../json-schema.js';
import { notJson } from '../not-json.js';
import { hasEndlessReference, schemaFaults } from '../schema-faults.js';
import { closeNested } from './close-nested.js';
import type { FitsAt } from './coerce.js';
import { createFitsAt } from './fits.js';
import { dryrunParameter, fileParameter, ownParameter } from './gateway-parameters.js';
import type { Judge } from './judge.js';
import { liftRequired } from './lift-required.js';
import { onlyWithFaults, withConditions } from './only-with.js';
import { tagAlternatives } from './tag-alternatives.js';

/** A helper's schema, ready to judge by. */
export interface CompiledSchema {
  /** The plugin's, with the gateway's own parameters: for documentation. */
  declared: JsonSchema;
  /** The same, closed: what is judged by. */
  closed: JsonSchema;
  judge: Judge;
  /** With what is required lifted. */
  judgeDryrun: Judge;
  fitsAt: FitsAt;
}

/** A schema that cannot be judged by; `faults` are all that is wrong with it, each with its place. */
export class SchemaError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[], cause?: unknown) {
    const [first = '', ...others] = faults;
    const list = others.length > 0 ? ['', ...faults].join('\n  ') : ` ${first}`;
    super(`input is not a valid schema:${list}`, { cause });
    this.faults = faults;
  }
}

/** Compiles the schema of a plugin's input; throws a `SchemaError`. */
export function compileSchema(
  ajv: Ajv,
  declaration: { input: unknown; files?: readonly FileField[] | undefined },
): CompiledSchema {
  const given = asSchema(declaration.input);
  const unreadable = notJson(given, 'input');
  if (unreadable.length > 0) throw new SchemaError(unreadable);
  const declared = withGatewayParameters(declaration);
  const faultsOf = () => [
    ...schemaFaults(ajv, given, 'input'),
    ...undeclared(declared),
    ...onlyWithFaults(given),
  ];
  if (hasEndlessReference(given)) throw new SchemaError(faultsOf());
  try {
    const closed = closeNested(declared);
    const judge = createJudge(ajv, tagAlternatives(closed));
    const judgeDryrun = createJudge(ajv, tagAlternatives(liftRequired(closed)));
    const faults = [...undeclared(declared), ...onlyWithFaults(given, judgeDryrun)];
    if (faults.length > 0) throw new SchemaError(faults);
    return { declared, closed, judge, judgeDryrun, fitsAt: createFitsAt(ajv, closed) };
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    const faults = faultsOf();
    // What shows in the whole only, ajv has said in its own words.
    if (faults.length === 0) faults.push(error instanceof Error ? error.message : String(error));
    throw new SchemaError(faults, error);
  }
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

function createJudge(ajv: Ajv, schema: JsonSchema): Judge {
  const validate = ajv.compile(schema);
  return (values, context) =>
    validate.call(context as never, values) ? [] : toProblems(validate.errors ?? [], schema);
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

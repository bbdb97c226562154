import type { Ajv, ValidateFunction } from 'ajv';
import { type FileField, signatureParameters } from '../declared-helper.js';
import { toProblems } from '../explain-errors.js';
import type { FieldProblem } from '../field-problem.js';
import { asSchema, isObject, type JsonSchema, subschemas } from '../json-schema.js';
import type { CheckValues } from '../keywords/keyword.js';
import { onlyWithFaults, withConditions } from '../keywords/only-with.js';
import { compileChecked } from '../vocabulary.js';
import { copyParameter, type FitsAt } from './coerce.js';
import { closeNested, liftRequired, tagAlternatives } from './rewrite.js';
import { hasEndlessReference, jsonFaults, schemaFaults } from './schema-faults.js';

/** The parameters that the gateway adds to a helper's own. */
const dryrunParameter = {
  type: 'boolean',
  description: 'Checks the input and answers with JSON; what is required may be left out.',
} as const;

/** What the url of a file may be. */
export const urlParameter = { type: 'string', minLength: 1, maxLength: 8192 } as const;

/** The parameter for a file's url, beside its multipart field. */
function fileParameter(file: FileField): JsonSchema {
  const { field, kind } = file;
  const what = kind === 'image' ? 'picture' : 'file';
  const how = `Public https address of the ${what}; in its place the multipart field ${field} takes an upload.`;
  return { ...urlParameter, description: sentences(describeFile(file), how) };
}

/** What a file is for, by its author, and which parameter it replaces. */
export function describeFile({ description, insteadOf }: FileField): string | undefined {
  return insteadOf === undefined ? description : sentences(description, `Takes the place of ${insteadOf}.`);
}

/** A helper's own parameter, with notes on files that replace it, and on those with or without which it means nothing. */
function ownParameter(name: string, schema: unknown, files: readonly FileField[]): unknown {
  const notes = files.flatMap((file) => [
    ...(file.insteadOf === name ? [`Required, unless a file comes as ${namesOf(file)}.`] : []),
    ...(file.notWith?.includes(name) ? [`Not beside ${namesOf(file)}.`] : []),
    ...(file.options?.includes(name) ? [`Only beside ${namesOf(file)}.`] : []),
  ]);
  if (notes.length === 0 || !isObject(schema)) return schema;
  return { ...schema, description: sentences(schema.description, ...notes) };
}

/** The names under which a file may be sent: `url or file`. */
function namesOf({ field, parameter }: FileField): string {
  return field === parameter ? field : `${parameter} or ${field}`;
}

function sentences(...parts: unknown[]): string {
  return parts.filter((part) => typeof part === 'string').join(' ');
}

/** Names that no helper may use, because the gateway reads them itself. */
export function reservedNames(files: readonly Pick<FileField, 'field' | 'parameter'>[]): string[] {
  const ofFiles = files.flatMap(({ field, parameter }) => [parameter, field]);
  return [...new Set(['ak', ...signatureParameters, 'dryrun', ...ofFiles])];
}

/** Which files were given, and how. */
interface FilesGiven {
  /** Whether a parameter was sent, with whatever value. */
  has: (parameter: string) => boolean;
  /** Multipart fields with a file. */
  uploaded: readonly string[];
  /** Whether a file was refused: it has its problem, and a missing file would be a second one for the same mistake. */
  hasLost: boolean;
  /** Lifts what is required. */
  dryrun: boolean;
  /** What a parameter allows, as a noun. */
  allowed: (parameter: string) => string;
  takesUploads: boolean;
}

/**
 * A file is given once, as an upload or by its url. Except in a dry run, a required one must be given, and so must either a file or
 * the parameter that it may replace.
 */
export function sourceProblems(
  files: readonly FileField[],
  { has, uploaded, hasLost, dryrun, allowed, takesUploads }: FilesGiven,
): FieldProblem[] {
  const known = files.map(({ field }) => field);
  const unknown = uploaded
    .filter((field) => !known.includes(field))
    .map((field) => ({ field, problem: unknownUpload(known) }));
  const found = files.map((file) => problemOf(file) ?? insteadProblem(file));
  return [...unknown, ...found.filter((problem) => problem !== undefined)];

  function problemOf(file: FileField): FieldProblem | undefined {
    const { field, parameter, required } = file;
    const hasUrl = has(parameter);
    const hasFile = uploaded.includes(field);
    if (hasUrl && hasFile) return { field: parameter, problem: sentTwice(file) };
    if (hasUrl || hasFile || hasLost || dryrun || !required) return undefined;
    return { field: parameter, problem: `is required: ${howToSend(file, takesUploads)}` };
  }

  function insteadProblem(file: FileField): FieldProblem | undefined {
    const { insteadOf } = file;
    if (insteadOf === undefined) return undefined;
    const given = nameGiven(file, { has, uploaded });
    if (given !== undefined && has(insteadOf)) {
      const problem = `is sent together with ${insteadOf}; send only one of ${insteadOf} and ${given}`;
      return { field: given, problem };
    }
    if (given !== undefined || has(insteadOf) || hasLost || dryrun) return undefined;
    const problem = `is required: ${allowed(insteadOf)}; or in its place ${howToSend(file, takesUploads)}`;
    return { field: insteadOf, problem };
  }
}

/** Parameters that mean nothing beside a file, or without one; one problem each. */
export function pointlessProblems(files: readonly FileField[], sent: FilesGiven): FieldProblem[] {
  const { has, hasLost, dryrun } = sent;
  const problems = new Map<string, FieldProblem>();
  for (const file of files) {
    const { insteadOf, notWith = [], options = [] } = file;
    const given = nameGiven(file, sent);
    const isMissing = given === undefined && !hasLost && (insteadOf === undefined ? !dryrun : has(insteadOf));
    const pointless = given === undefined ? (isMissing ? options : []) : notWith;
    const problem = `means nothing ${given === undefined ? `without ${namesOf(file)}` : `beside ${given}`}`;
    for (const name of pointless.filter(has)) problems.set(name, { field: name, problem });
  }
  return [...problems.values()];
}

/** The name under which a file was given. */
function nameGiven(
  { field, parameter }: FileField,
  { has, uploaded }: Pick<FilesGiven, 'has' | 'uploaded'>,
): string | undefined {
  if (has(parameter)) return parameter;
  return uploaded.includes(field) ? field : undefined;
}

function unknownUpload(known: readonly string[]): string {
  return known.length === 0
    ? 'is not taken by this helper, which works without a file'
    : `is no file field of this helper; it takes ${known.join(', ')}`;
}

function sentTwice({ field, parameter }: FileField): string {
  return field === parameter
    ? 'is sent both as a url and as an uploaded file; send only one'
    : `is sent together with an uploaded file; send only one of ${parameter} and ${field}`;
}

function howToSend({ field, parameter, kind }: FileField, takesUploads: boolean): string {
  const what = kind === 'image' ? 'a picture' : 'a file';
  if (!takesUploads) return `send the url of ${what} as ${parameter}`;
  return field === parameter
    ? `send the url of ${what}, or upload one in the multipart field ${field}`
    : `send the url of ${what}${parameter === 'url' ? '' : ` as ${parameter}`}, or upload one as ${field}`;
}

/** The root is known by it only while a schema inside of it is compiled. */
const rootId = 'urn:helper-gateway:parameters';

/** Validates by the schemas inside of `root`, each compiled on first use: few calls need one. */
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
      if ('problem' in copied) return false;
      validate ??= compile(pointer);
      return validate({ value: copied.value });
    };
  };
}

/** Compiled on first use, or before by `prepare`. */
type PreparedCheck = CheckValues & { prepare(): void };

/** The part of a plugin's declaration from which its schema is compiled. */
export interface DeclaredInput {
  input: unknown;
  files?: readonly FileField[] | undefined;
}

export type CompiledSchema = ReturnType<typeof compileSchema>;

/** An input's or output's schema that cannot be used; `faults` are all that is wrong with it, each with its place. */
class SchemaError extends Error {
  readonly faults: readonly string[];

  constructor(name: 'input' | 'output', faults: readonly string[], cause?: unknown) {
    // For what shows in the whole only, there are ajv's own words.
    const all = faults.length > 0 ? faults : [cause instanceof Error ? cause.message : String(cause)];
    super(`${name} is not a valid schema:${all.length > 1 ? ['', ...all].join('\n  ') : ` ${all[0]}`}`, {
      cause,
    });
    this.faults = all;
  }
}

/**
 * Compiles the schema of a plugin's input; throws a `SchemaError`. The validator of dry runs is compiled on first use, and so is the
 * other one for a plain schema, or one that is `checked` already.
 */
export function compileSchema(ajv: Ajv, declaration: DeclaredInput, checked = false) {
  const given = asSchema(declaration.input);
  const unreadable = checked ? [] : jsonFaults(given, 'input');
  if (unreadable.length > 0) throw new SchemaError('input', unreadable);
  const declared = withGatewayParameters(declaration);
  const unplaced = (dryRun?: CheckValues) => [...undeclared(declared), ...onlyWithFaults(given, dryRun)];
  const refusal = (cause?: unknown) =>
    new SchemaError('input', [...schemaFaults(ajv, given, 'input'), ...unplaced()], cause);
  if (!checked && hasEndlessReference(given)) throw refusal();
  try {
    const closed = closeNested(declared);
    const compile = (schema: JsonSchema) => (checked ? compileChecked(ajv, schema) : ajv.compile(schema));
    const validate = createCheck(() => tagAlternatives(closed), compile);
    const validateDryRun = createCheck(() => tagAlternatives(liftRequired(closed)), compile);
    if (!checked) {
      if (!isPlain(ajv, closed)) validate.prepare();
      // Elsewhere it is the same schema without `required`, which breaks nothing.
      if (branchKeywords.some((keyword) => keyword in closed)) validateDryRun.prepare();
      const faults = unplaced(validateDryRun);
      if (faults.length > 0) throw new SchemaError('input', faults);
    }
    return {
      /** The plugin's, with the gateway's own parameters: for documentation. */
      declared,
      /** The same, closed: what values are validated by. */
      closed,
      validate,
      /** With what is required lifted. */
      validateDryRun,
      fitsAt: createFitsAt(ajv, closed),
    };
  } catch (error) {
    throw error instanceof SchemaError ? error : refusal(error);
  }
}

/** Keywords that ajv accepts wherever the meta-schema does and the type is theirs. */
const plainKeywords = new Set(
  `type title description const minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
  items minItems maxItems uniqueItems properties required additionalProperties minProperties maxProperties`.split(
    /\s+/,
  ),
);
/** Past this ajv may find a schema too large to be compiled. */
const mostPlainParts = 200;

/**
 * Whether ajv is sure to compile a schema, so that a start is spared a millisecond for it: every part of it has one type and plain
 * keywords of that type, and the meta-schema accepts it.
 */
function isPlain(ajv: Ajv, root: JsonSchema): boolean {
  const parts = [root];
  for (const part of parts) {
    const { type, items } = part;
    if (typeof type !== 'string' || Array.isArray(items)) return false;
    const ofType = ajv.RULES.rules.find((group) => group.type === (type === 'integer' ? 'number' : type));
    const others = ajv.RULES.rules
      .filter((group) => group.type && group !== ofType)
      .flatMap(({ rules }) => rules);
    const isOfType = (name: string) => !others.some(({ keyword }) => keyword === name);
    if (!Object.keys(part).every((keyword) => plainKeywords.has(keyword) && isOfType(keyword))) return false;
    parts.push(...subschemas(part).map(({ schema }) => schema));
    if (parts.length > mostPlainParts) return false;
  }
  return ajv.validateSchema(root) === true;
}

/** All faults of the schema, but for its type, in a declaration with other faults. */
export function inputFaults(ajv: Ajv, input: JsonSchema): readonly string[] {
  try {
    compileSchema(ajv, { input: { ...input, type: 'object' } });
    return [];
  } catch (error) {
    if (error instanceof SchemaError) return error.faults;
    throw error;
  }
}

/** Without `required`, a schema with these has another form. */
const branchKeywords = ['allOf', 'anyOf', 'oneOf', 'then', 'else'];

function createCheck(
  schemaOf: () => JsonSchema,
  compile: (schema: JsonSchema) => ValidateFunction,
): PreparedCheck {
  let compiled: { schema: JsonSchema; validate: ValidateFunction } | undefined;
  function prepare() {
    if (compiled) return compiled;
    const schema = schemaOf();
    compiled = { schema, validate: compile(schema) };
    return compiled;
  }
  const check: CheckValues = (values, context) => {
    const { schema, validate } = prepare();
    return validate.call(context as never, values) ? [] : toProblems(validate.errors ?? [], schema);
  };
  return Object.assign(check, { prepare });
}

function withGatewayParameters({ input, files = [] }: DeclaredInput): JsonSchema {
  // A `$id` would occur twice, because the schema is compiled with and without its `required`.
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

/** What is wrong with an answer's data, which stays as it is. */
export type CheckOutput = (data: object) => FieldProblem[];

/**
 * Compiles the schema of a helper's answers, closed as parameters are: readers do not know of an undeclared field. Throws an `Error`
 * with all that is wrong with it.
 */
export function compileOutput(ajv: Ajv, output: JsonSchema): CheckOutput {
  const unreadable = jsonFaults(output, 'output');
  if (unreadable.length > 0) throw new SchemaError('output', unreadable);
  const refusal = (cause?: unknown) => new SchemaError('output', schemaFaults(ajv, output, 'output'), cause);
  if (hasEndlessReference(output)) throw refusal();
  const { $id: _, ...schema } = tagAlternatives(closeNested(output));
  try {
    const validate = ajv.compile(schema);
    // A copy, because defaults and normal forms are written into it.
    return (data) => (validate(structuredClone(data)) ? [] : toProblems(validate.errors ?? [], schema));
  } catch (error) {
    throw refusal(error);
  }
}

import type { Ajv } from 'ajv';
import { type FileField, sourceField } from '../declared-helper.js';
import { describeProperty } from '../describe.js';
import type { FieldProblem } from '../field-problem.js';
import { asSchema, followReference, type JsonSchema, typesOf } from '../json-schema.js';
import type { CheckValues } from '../keywords/keyword.js';
import { createOnlyWith, isFieldOf } from '../keywords/only-with.js';
import { didYouMean } from '../nearest.js';
import { quote } from '../quote.js';
import { checkNamed, copyParameter, createCoerce } from './coerce.js';
import {
  type CompiledSchema,
  compileSchema,
  type DeclaredInput,
  pointlessProblems,
  sourceProblems,
} from './compile-schema.js';

/** The part of a plugin's declaration that describes its parameters. */
export interface ParameterDeclaration extends DeclaredInput {
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
  /** Multipart fields in which a file was uploaded; none by default. */
  uploaded?: readonly string[];
  /** Whether one was refused, which has its problem already. */
  hasLostFile?: boolean;
  /** Accepts what any image engine writes: for an author's examples and defaults, because the plugin loads with each engine. */
  anyEngine?: boolean;
  /** Whether it is a step of a call: its picture is there, nothing can be uploaded for it, and `callParameters` are the call's. */
  isStep?: boolean;
}

/** What is said once for all steps of a call. */
export const callParameters: readonly string[] = ['url', 'file', 'format', 'quality', 'dryrun'];

export interface CheckedInput {
  /** A fresh object in normal form, with defaults and without `dryrun`; to be used only where there is no problem. */
  input: Record<string, unknown>;
  /** Every problem at once, as many as there are: `boundProblems` makes them an answer. */
  problems: FieldProblem[];
}

export type ParameterChecker = ReturnType<typeof createChecker>;

/**
 * Compiles a helper's parameters, once at the start. Throws an `Error` with the reason where the schema is not valid in
 * ajv's strict mode, or refuses one of its own defaults or examples. Where all that has been `checked` before, by another thread or
 * by the package's tests, the schema is compiled by `prepare` or the first check.
 */
export function compileParameters(
  ajv: Ajv,
  declaration: ParameterDeclaration,
  { checked = false }: { checked?: boolean } = {},
): ParameterChecker {
  const { files = [] } = declaration;
  const schema = compileSchema(ajv, declaration, checked);
  const checker = createChecker(schema, files);
  if (checked) return checker;
  checkDefaults(schema.validateDryRun, checker.properties);
  const refused = (declaration.examples ?? []).flatMap((example, index) => {
    const isDryrun = example.input.dryrun === true;
    const { problems } = checker.check(example.input, {
      dryrun: isDryrun,
      uploaded: isDryrun ? [] : uploadsOf(files, example.input),
      anyEngine: true,
    });
    const name = `example ${index + 1}${example.summary === undefined ? '' : ` (${quote(example.summary)})`}`;
    return problems.length > 0 ? [`${name} is refused by its own schema: ${list(problems)}`] : [];
  });
  if (refused.length > 0) throw new Error(refused.join('\n'));
  return checker;
}

function createChecker(
  { declared, closed, validate, validateDryRun, fitsAt }: CompiledSchema,
  files: readonly FileField[],
) {
  const required = new Set(Array.isArray(declared.required) ? declared.required : []);
  const properties = Object.entries(asSchema(declared.properties)).map(([name, value]): ParameterProperty => {
    const schema = asSchema(value);
    return { name, schema, required: required.has(name), allowed: describeProperty(schema, declared) };
  });
  const schemas = new Map(properties.map(({ name, schema }) => [name, schema]));
  const names = [...schemas.keys()];
  const closedProperties = asSchema(closed.properties);
  const coercerOf = (name: string) =>
    createCoerce(asSchema(closedProperties[name]), closed, fitsAt, `/properties/${name}`);
  const coercers = new Map(names.map((name) => [name, coercerOf(name)]));
  const onlyWithProblems = createOnlyWith(declared);
  const ofSteps = {
    schemas: new Map([...schemas].filter(([name]) => !callParameters.includes(name))),
    files: files.filter((file) => file !== sourceField).map((file) => ({ ...file, field: file.parameter })),
  };

  function check(
    input: Record<string, unknown>,
    { dryrun, uploaded = [], hasLostFile = false, anyEngine = false, isStep = false }: CheckOptions,
  ): CheckedInput {
    const taken = isStep ? ofSteps : { schemas, files };
    const { values, known, unknown } = checkNamed(input, {
      schemas: taken.schemas,
      copy: (schema, value) => copyParameter(schema, value, declared),
      unknown: isStep ? unknownInStep : unknownParameter,
      validate: (named) => (dryrun ? validateDryRun : validate)(named, { anyEngine }),
    });
    const has = (name: string) => Object.hasOwn(input, name) && input[name] !== undefined;
    const isText = files.some(({ field, parameter }) => field !== parameter && Object.hasOwn(input, field));
    const hasLost = hasLostFile || isText;
    const allowed = (name: string) => properties.find((each) => each.name === name)?.allowed ?? '';
    const given = { has, uploaded, hasLost, dryrun, allowed, takesUploads: !isStep };
    // Whatever else is wrong with a parameter that means nothing here need not be mended.
    const pointless = taken.files.length > 0 ? pointlessProblems(taken.files, given) : [];
    const problems = known.filter((each) => !pointless.some(({ field }) => isFieldOf(each.field, field)));
    problems.push(...pointless);
    if (onlyWithProblems) problems.push(...onlyWithProblems({ has, values, problems }));
    if (taken.files.length + uploaded.length > 0) problems.push(...sourceProblems(taken.files, given));
    delete values.dryrun;
    return { input: values, problems: [...problems, ...unknown] };
  }

  function unknownParameter(name: string): string {
    if (files.some(({ field }) => field === name)) {
      return `must be uploaded as a file, in a multipart/form-data body (curl: -F ${name}=@photo.jpg)`;
    }
    const whole = names.find((each) => isFieldOf(name, each) && holdsOthers(schemas.get(each), declared));
    if (whole !== undefined) {
      return `is not a parameter of this helper; what is inside "${whole}" is sent within it, as one JSON value`;
    }
    const hint = didYouMean(name, names);
    return `is not a parameter of this helper${hint === '' ? `; it takes ${names.join(', ')}` : hint}`;
  }

  function unknownInStep(name: string): string {
    const file = files.find(({ field }) => field === name);
    if (callParameters.includes(name)) return 'is said once for all steps; write it beside steps';
    if (file) return `cannot be uploaded for a step; send its url as ${file.parameter}`;
    const known = [...ofSteps.schemas.keys()];
    const hint = didYouMean(name, known);
    const takes = known.length === 0 ? 'no parameters in a step' : known.join(', ');
    return `is not a parameter of this helper${hint === '' ? `, which takes ${takes}` : hint}`;
  }

  return {
    /** In the order of the documentation: those of files, the helper's own, `dryrun`. */
    properties: properties as readonly ParameterProperty[],
    /** The files beside them. */
    files,
    /** The text of a query or form value as the type that the parameter declares; unknown names and misfits stay text. */
    coerce: (name: string, text: string) => coercers.get(name)?.(text) ?? text,
    /** Validates JSON values, without coercion. Neither throws nor changes what it is given. */
    check,
    /** Compiles what the first check would have to wait for. */
    prepare() {
      validate.prepare();
      validateDryRun.prepare();
    },
  };
}

function checkDefaults(validate: CheckValues, properties: readonly ParameterProperty[]): void {
  const defaulted = properties.filter(({ schema }) => 'default' in schema).map(({ name }) => name);
  if (defaulted.length === 0) return;
  const refused = validate({}, { anyEngine: true }).filter(({ field }) =>
    defaulted.some((name) => isFieldOf(field, name)),
  );
  if (refused.length > 0) throw new Error(`a default is refused by its own schema: ${list(refused)}`);
}

/**
 * The files that an example of a call needs: each that is required and that the example does not name, by its url or by the
 * parameter that it replaces.
 */
export function uploadsOf(files: readonly FileField[], input: Record<string, unknown>): string[] {
  const wanted = files.filter(({ parameter, required, insteadOf }) => {
    const isAsked = required || (insteadOf !== undefined && !Object.hasOwn(input, insteadOf));
    return isAsked && !Object.hasOwn(input, parameter);
  });
  return wanted.map(({ field }) => field);
}

/** Whether values of this schema may be lists or objects. */
function holdsOthers(schema: unknown, root: JsonSchema): boolean {
  const types = typesOf(followReference(asSchema(schema), root));
  return types.length === 0 || types.includes('object') || types.includes('array');
}

function list(problems: readonly FieldProblem[]): string {
  return problems.map(({ field, problem }) => `${field} ${problem}`).join('; ');
}

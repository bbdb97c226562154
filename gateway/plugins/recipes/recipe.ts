import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Ajv } from 'ajv';
import { isParameterName, parameterNameForm } from '../../../schemas/declaration.js';
import { describeDeclaration, sourceField } from '../../../schemas/declared-helper.js';
import { mismatch } from '../../../schemas/explain-errors.js';
import { type FieldProblem, joinField } from '../../../schemas/field-problem.js';
import { compileFields } from '../../../schemas/fields.js';
import { isObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { isFieldOf } from '../../../schemas/keywords/only-with.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { reservedNames } from '../../../schemas/parameters/compile-schema.js';
import {
  callParameters,
  compileParameters,
  type ParameterChecker,
} from '../../../schemas/parameters/parameters.js';
import { quote } from '../../../schemas/quote.js';
import { pictureOutput, pictureOutputRules } from '../../helper.js';
import type { Helper, ReadSteps, Registry } from '../registry.js';
import { createDerivation, entrySchema, type ParameterEntry, schemaAt, type ValuePlace } from './derive.js';
import { mostSteps, outputParameters, stepsDeclaration } from './pipeline.js';
import { fieldInStep, isStepHelper, readSteps } from './steps.js';

/** What a recipe's definition is. */
export interface CompiledRecipe {
  /** What serves it; absent where there are problems. */
  helper?: Helper;
  problems: FieldProblem[];
  /** The id of a step's helper that is not there, or can be no step; it is among the problems. */
  gone?: string;
}

export type RecipeCompiler = (id: string, definition: unknown) => CompiledRecipe;

type StepDefinition = Record<string, unknown>;

interface Definition {
  summary?: string;
  description?: string;
  input?: Record<string, ParameterEntry>;
  steps: StepDefinition[];
  format?: string;
}

/** What a definition has; the steps are described by their helpers. */
export const definitionSchema = {
  required: ['steps'],
  properties: {
    summary: { type: 'string', minLength: 1, maxLength: 200 },
    description: { type: 'string', maxLength: 4000 },
    input: { type: 'object', additionalProperties: entrySchema },
    steps: { type: 'array', minItems: 1, maxItems: mostSteps, items: { type: 'object' } },
    format: { type: 'string', choice: pictureOutput.format.choice },
  },
};

/** Places of parameters at most: compiling each costs milliseconds. */
const mostPlaces = 100;

/** A value of a step that a parameter stands for. */
interface Placeholder extends ValuePlace {
  name: string;
  step: number;
  /** `steps.1.size.width` */
  field: string;
  /** Whether it is an item of a list, which cannot be left out. */
  isItem: boolean;
}

/**
 * Makes recipes helpers, with the steps that `registry` has. What is compiled stays in a vocabulary for good, so each recipe asks for
 * one; those that come and go are to have their own.
 */
export function createRecipeCompiler(registry: Registry, vocabulary: () => Ajv): RecipeCompiler {
  const fields = compileFields<Definition>(vocabulary, definitionSchema);

  return function compileRecipe(id, written) {
    if (!isObject(written)) {
      return { problems: [{ field: '*', problem: mismatch({ type: 'object' }, written) }] };
    }
    const { value: definition, problems } = fields.check(written);
    const isReadable = (part: string) => !problems.some(({ field }) => isFieldOf(field, part));
    if (!isReadable('steps')) return { problems };
    const { steps } = definition;
    const gone = steps.find(({ use }) => !isStepHelper(registry.get(String(use))))?.use;
    const template = readTemplate(steps, registry);
    problems.push(...template.problems);
    if (gone !== undefined) return { problems, gone: String(gone) };
    if (!isReadable('input')) return { problems };
    const ajv = vocabulary();
    const parameters = deriveParameters(template, definition.input ?? {}, ajv);
    problems.push(...parameters.problems);
    if (problems.length > 0) return { problems };
    const { declaration, version } = declare(definition, parameters);
    const compiled = compileParameters(ajv, declaration, { checked: true });
    // What cannot be compiled is to fail here, and not in a call.
    compiled.prepare();
    const check =
      definition.format === undefined ? compiled.check : withFormat(compiled.check, definition.format);
    const reader = {
      registry,
      placeholders: template.placeholders,
      defaults: defaultsOf(compiled, parameters.inherited),
    };
    const helper = { id, file: '', url: '', declaration, version, parameters: { ...compiled, check } };
    return { helper: { ...helper, readSteps: createReadSteps(definition, reader) }, problems };
  };
}

const placeholder = /^\{([^{}]*)\}$/;

/** The value with each `{name}` replaced, without those that become undefined, and with each `{{` as a brace. */
function fill(value: unknown, valueFor: (name: string, isItem: boolean) => unknown, isItem = false): unknown {
  const name = typeof value === 'string' ? placeholder.exec(value)?.[1] : undefined;
  if (name !== undefined) return valueFor(name, isItem);
  if (typeof value === 'string') return value.replaceAll('{{', '{');
  if (Array.isArray(value)) {
    return value.map((item) => fill(item, valueFor, true)).filter((item) => item !== undefined);
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, fill(item, valueFor)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

interface FoundText {
  text: string;
  keys: readonly string[];
  isItem: boolean;
}

/** Each text in a value, with the keys that lead to it. */
function textsIn(value: unknown, keys: readonly string[] = [], isItem = false): FoundText[] {
  if (typeof value === 'string') return [{ text: value, keys, isItem }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...keys, key], Array.isArray(value)));
}

const taken = new Set([...reservedNames([sourceField]), ...callParameters]);

function textProblem(text: string): string | undefined {
  const name = placeholder.exec(text)?.[1];
  if (name === undefined) {
    if (!text.replaceAll('{{', '').includes('{')) return undefined;
    return 'has a lone "{": write "{{" for the brace itself, or "{name}" as the whole value for a parameter';
  }
  if (taken.has(name)) return `names the parameter ${name}, which is the gateway's own; give it another name`;
  return isParameterName(name) ? undefined : `names the parameter ${quote(name)}; write ${parameterNameForm}`;
}

type Template = ReturnType<typeof readTemplate>;

/** Reads the steps of a definition: where its parameters stand, and what is wrong whatever their values are. */
function readTemplate(steps: readonly StepDefinition[], registry: Registry) {
  const problems: FieldProblem[] = [];
  const placeholders: Placeholder[] = [];
  for (const [step, { use, ...parameters }] of steps.entries()) {
    const helper = registry.get(String(use));
    for (const { text, keys, isItem } of textsIn(parameters)) {
      const field = keys.reduce((path, key) => joinField(path, key), `steps.${step}`);
      const problem = textProblem(text);
      if (problem !== undefined) problems.push({ field, problem });
      const name = placeholder.exec(text)?.[1];
      if (problem === undefined && name !== undefined && helper)
        placeholders.push({ name, step, field, helper, keys, isItem });
    }
  }
  if (placeholders.length > mostPlaces) {
    const problem = `must name their parameters at most ${mostPlaces} times, but do ${placeholders.length} times`;
    return { problems: [{ field: 'steps', problem }], placeholders: [], isNeeded: () => false };
  }

  /** What a step's helper says without a parameter, and with an empty object, which hardly any takes, for the others. */
  function problemsOf(step: number, without?: string): FieldProblem[] {
    const filled = fill(steps[step], (name) => (name === without ? undefined : {}));
    const nameField = (_: number, field: string) => fieldInStep(step, field);
    return readSteps([filled], registry, { dryrun: false, anyEngine: true, nameField }).problems;
  }

  const whatever = steps.map((_, step) => problemsOf(step));
  const open = placeholders.filter((place) => schemaAt(place) !== undefined).map(({ field }) => field);
  // What holds a parameter may be right with its value.
  const isOpen = (field: string) => open.some((each) => isFieldOf(field, each) || isFieldOf(each, field));
  const refused = new Set(problems.map(({ field }) => field));
  problems.push(...whatever.flat().filter(({ field }) => !refused.has(field) && !isOpen(field)));

  /** Whether no call is right without a parameter. */
  function isNeeded(name: string): boolean {
    const own = placeholders.filter((place) => place.name === name);
    return own.some(({ step, isItem }) => {
      const others = new Set(whatever[step]?.map(({ field }) => field));
      for (const { field } of own) others.delete(field);
      return isItem || problemsOf(step, name).some(({ field }) => !others.has(field));
    });
  }

  return { placeholders, problems, isNeeded };
}

/** The parameters of a recipe as the parts of a schema, and those whose default is that of their places. */
function deriveParameters(
  { placeholders, problems: faults, isNeeded }: Template,
  entries: Readonly<Record<string, ParameterEntry>>,
  ajv: Ajv,
) {
  const problems = new Map<string, FieldProblem>();
  const refuse = (field: string, problem: string) => {
    if (!problems.has(field)) problems.set(field, { field, problem });
  };
  const names = [...new Set(placeholders.map(({ name }) => name))];
  for (const name of Object.keys(entries).filter((each) => !names.includes(each))) {
    refuse(joinField('input', name), `is in no step as "{name}"${didYouMean(name, names)}`);
  }
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const inherited: string[] = [];
  const { derive, definitions } = createDerivation(ajv);
  for (const name of names) {
    const own = placeholders.filter((place) => place.name === name);
    const entry = Object.hasOwn(entries, name) ? entries[name] : {};
    const { schema, inherits } = derive(own, entry ?? {}, (keyword, problem) =>
      refuse(`${joinField('input', name)}.${keyword}`, problem),
    );
    properties[name] = schema;
    if (inherits) inherited.push(name);
    // Where the steps are wrong anyway, nothing is made of it.
    if (faults.length === 0 && !('default' in schema) && isNeeded(name)) required.push(name);
  }
  return { properties, required, inherited, definitions, problems: [...problems.values()] };
}

type Derived = Omit<ReturnType<typeof deriveParameters>, 'problems'>;

function declare(
  { summary, description, steps, format }: Definition,
  { properties, required, definitions }: Derived,
) {
  const { quality } = pictureOutputRules;
  const { format: formatParameter, ...output } = outputParameters;
  const hasQuality = format === undefined || quality.format.some((each) => each === format);
  const declaration = describeDeclaration({
    ...stepsDeclaration,
    summary: summary ?? `Runs ${steps.map(({ use }) => use).join(', then ')}.`,
    description,
    input: {
      type: 'object',
      required,
      properties: {
        ...properties,
        ...(format === undefined && { format: formatParameter }),
        ...(hasQuality && output),
      },
      ...(format === undefined && { onlyWith: pictureOutputRules }),
      ...(Object.keys(definitions).length > 0 && { definitions }),
    },
  });
  return { declaration, version: hash('sha256', JSON.stringify([declaration, steps, format]), 'base64url') };
}

/** The normal forms of the defaults that a recipe has from its places. */
function defaultsOf({ check }: ParameterChecker, inherited: readonly string[]): ReadonlyMap<string, unknown> {
  const { input } = check({}, { dryrun: true, anyEngine: true });
  return new Map(Object.entries(input).filter(([name]) => inherited.includes(name)));
}

interface Reader {
  registry: Registry;
  placeholders: readonly Placeholder[];
  defaults: ReadonlyMap<string, unknown>;
}

function createReadSteps(
  { steps, format }: Definition,
  { registry, placeholders, defaults }: Reader,
): ReadSteps {
  /** What a caller calls a value of a step: by the parameter that stands there, around it or in it, or the first of the step. */
  function nameField(step: number, inner: string): string {
    const field = fieldInStep(step, inner);
    const own = placeholders.filter((place) => place.step === step);
    const around = own.find((place) => isFieldOf(field, place.field));
    if (around) return around.name + field.slice(around.field.length);
    return (own.find((place) => isFieldOf(place.field, field)) ?? own[0])?.name ?? inner;
  }

  return function readRecipe(input, { dryrun }) {
    const filled = fill(steps, (name, isItem) => {
      const value = Object.hasOwn(input, name) ? input[name] : undefined;
      // A default that is sent may make no sense beside other values, where one that is left out does.
      const isDefault = defaults.has(name) && isDeepStrictEqual(value, defaults.get(name));
      return isDefault && !isItem ? undefined : value;
    });
    const read = readSteps(filled as StepDefinition[], registry, { dryrun, nameField });
    const problems = [...new Map(read.problems.map((each) => [each.field, each])).values()];
    return { ...read, problems, format: format ?? (input.format as string | undefined) };
  };
}

/** Says of a `format` that is sent that the recipe has one. */
function withFormat(check: ParameterChecker['check'], format: string): ParameterChecker['check'] {
  return function checkWithFormat(given, options) {
    const { input, problems } = check(given, options);
    const said = { field: 'format', problem: `is always ${format} here; leave it out` };
    return { input, problems: problems.map((each) => (each.field === 'format' ? said : each)) };
  };
}

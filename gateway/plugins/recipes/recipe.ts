import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Ajv } from 'ajv';
import { isParameterName, parameterNameForm } from '../../../schemas/declaration.js';
import { describeDeclaration, type HelperExample, sourceField } from '../../../schemas/declared-helper.js';
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
    const { input: entries = {} } = definition;
    const parameters = deriveParameters(template, entries, ajv);
    problems.push(...parameters.problems);
    if (problems.length > 0) return { problems };
    const { declaration, version } = declare(definition, parameters);
    const compiled = compileParameters(ajv, declaration, { checked: true });
    // What cannot be compiled is to fail here, and not in a call.
    compiled.prepare();
    const defaults = compiled.check({}, { dryrun: true, anyEngine: true }).input;
    const isInherited = (name: string, value: unknown) =>
      !Object.hasOwn(entries[name] ?? {}, 'default') && isDeepStrictEqual(value, defaults[name]);
    const readSteps = createReadSteps(definition, {
      registry,
      placeholders: template.placeholders,
      isInherited,
    });
    const examples = exampleOf(compiled, readSteps);
    const helper = { id, file: '', url: '', version, parameters: compiled, readSteps };
    return { helper: { ...helper, declaration: { ...declaration, examples } }, problems };
  };
}

/** A call with the first example of each parameter that has one, where that is right. */
function exampleOf({ properties, check }: ParameterChecker, readSteps: ReadSteps): HelperExample[] {
  const given = properties.flatMap(({ name, schema: { examples } }) =>
    Array.isArray(examples) ? [[name, examples[0]] as const] : [],
  );
  const example = { input: Object.fromEntries(given) };
  const { input, problems } = check(example.input, { dryrun: false, uploaded: ['file'], anyEngine: true });
  const isRight = problems.length === 0 && readSteps(input, { dryrun: false }).problems.length === 0;
  return isRight ? [example] : [];
}

/** The parameter that a text stands for. */
function nameIn(text: string): string | undefined {
  return /^\{([^{}]*)\}$/.exec(text)?.[1];
}

/** A copy with each text replaced, without the properties that become undefined. */
function mapTexts(
  value: unknown,
  replace: (text: string, keys: readonly string[]) => unknown,
  keys: readonly string[] = [],
): unknown {
  if (typeof value === 'string') return replace(value, keys);
  if (Array.isArray(value)) return value.map((item, at) => mapTexts(item, replace, [...keys, String(at)]));
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, mapTexts(item, replace, [...keys, key])]);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

/** The value with each `{name}` replaced, and with each `{{` as a brace. */
function fill(value: unknown, valueFor: (name: string) => unknown): unknown {
  return mapTexts(value, (text) => {
    const name = nameIn(text);
    return name === undefined ? text.replaceAll('{{', '{') : valueFor(name);
  });
}

const taken = new Set([...reservedNames([sourceField]), ...callParameters]);

function textProblem(text: string): string | undefined {
  const name = nameIn(text);
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
    mapTexts(parameters, (text, keys) => {
      const field = keys.reduce((path, key) => joinField(path, key), `steps.${step}`);
      const problem = textProblem(text);
      if (problem !== undefined) problems.push({ field, problem });
      const name = nameIn(text);
      if (problem === undefined && name !== undefined && helper)
        placeholders.push({ name, step, field, helper, keys });
    });
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
    return own.some(({ step }) => {
      const others = new Set(whatever[step]?.map(({ field }) => field));
      for (const { field } of own) others.delete(field);
      return problemsOf(step, name).some(({ field }) => !others.has(field));
    });
  }

  return { placeholders, problems, isNeeded };
}

/** The parameters of a recipe as the parts of a schema. */
function deriveParameters(
  { placeholders, problems: faults, isNeeded }: Template,
  entries: Readonly<Record<string, ParameterEntry>>,
  ajv: Ajv,
) {
  const problems = new Map<string, FieldProblem>();
  const refuse = (field: string, problem: string | undefined) => {
    if (problem !== undefined && !problems.has(field)) problems.set(field, { field, problem });
  };
  const names = [...new Set(placeholders.map(({ name }) => name))];
  for (const name of Object.keys(entries).filter((each) => !names.includes(each))) {
    refuse(joinField('input', name), `is in no step as "{name}"${didYouMean(name, names)}`);
  }
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const { derive, definitions } = createDerivation(ajv);
  for (const name of names) {
    const own = placeholders.filter((place) => place.name === name);
    const entry = Object.hasOwn(entries, name) ? entries[name] : {};
    const schema = derive(own, entry ?? {}, (keyword, problem) =>
      refuse(`${joinField('input', name)}.${keyword}`, problem),
    );
    properties[name] = schema;
    // Where the steps are wrong anyway, nothing is made of it.
    if (faults.length === 0 && !('default' in schema) && isNeeded(name)) required.push(name);
  }
  return { properties, required, definitions, problems: [...problems.values()] };
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

interface Reader {
  registry: Registry;
  placeholders: readonly Placeholder[];
  /** Whether a value is the default that a parameter has from its places. */
  isInherited: (name: string, value: unknown) => boolean;
}

function createReadSteps(
  { steps, format }: Definition,
  { registry, placeholders, isInherited }: Reader,
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
    const filled = fill(steps, (name) => {
      const value = Object.hasOwn(input, name) ? input[name] : undefined;
      // A default that is sent may make no sense beside other values, where one that is left out does.
      return isInherited(name, value) ? undefined : value;
    });
    const read = readSteps(filled as StepDefinition[], registry, { dryrun, nameField });
    const problems = [...new Map(read.problems.map((each) => [each.field, each])).values()];
    return { ...read, problems, format: format ?? (input.format as string | undefined) };
  };
}

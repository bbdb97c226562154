import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Ajv } from 'ajv';
import { isParameterName, parameterNameForm } from '../../../schemas/declaration.js';
import { type DeclaredHelper, sourceField } from '../../../schemas/declared-helper.js';
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
import type { CallSteps, Helper, ReadSteps, Registry } from '../registry.js';
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

const definitionSchema = {
  required: ['steps'],
  properties: {
    summary: { type: 'string', minLength: 1, maxLength: 200 },
    description: { type: 'string', maxLength: 4000 },
    input: { type: 'object', additionalProperties: entrySchema },
    steps: { type: 'array', minItems: 1, maxItems: mostSteps, items: { type: 'object' } },
    format: { type: 'string', choice: pictureOutput.format.choice },
  },
};

/** Parameters of a recipe at most. */
const mostParameters = 50;

/** A value of a step that a parameter stands for. */
interface Placeholder extends ValuePlace {
  /** The parameter. */
  name: string;
  step: number;
  /** `steps.1.size.width`; below `step`, `inner`. */
  field: string;
  inner: string;
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
    const read = readTemplate(definition.steps, registry);
    problems.push(...read.problems);
    if (read.gone !== undefined) return { problems, gone: read.gone };
    if (!isReadable('input')) return { problems };
    const ajv = vocabulary();
    const parameters = deriveParameters(read, definition.input ?? {}, ajv);
    problems.push(...parameters.problems);
    if (problems.length > 0) return { problems };
    return { helper: createRecipe(id, definition, { ...read, ...parameters }, { registry, ajv }), problems };
  };
}

const placeholder = /^\{([^{}]*)\}$/;

/** The value with each `{name}` replaced, without those that become undefined, and with each `{{` as a brace. */
function fill(value: unknown, field: string, valueFor: (name: string, field: string) => unknown): unknown {
  const name = typeof value === 'string' ? placeholder.exec(value)?.[1] : undefined;
  if (name !== undefined) return valueFor(name, field);
  if (typeof value === 'string') return value.replaceAll('{{', '{');
  const inner = (key: string | number, item: unknown) => fill(item, joinField(field, String(key)), valueFor);
  if (Array.isArray(value)) {
    return value.map((item, at) => inner(at, item)).filter((item) => item !== undefined);
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, inner(key, item)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

/** Each text in a value, with the keys that lead to it. */
function textsIn(value: unknown, keys: readonly string[] = []): { text: string; keys: readonly string[] }[] {
  if (typeof value === 'string') return [{ text: value, keys }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => textsIn(item, [...keys, key]));
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
  let gone: string | undefined;
  steps.forEach((step, at) => {
    const { use, ...parameters } = step;
    const helper = registry.get(String(use));
    if (!helper || !isStepHelper(helper)) gone ??= String(use);
    for (const { text, keys } of textsIn(parameters)) {
      const inner = keys.reduce(joinField, '');
      const field = keys.reduce(joinField, `steps.${at}`);
      const problem = textProblem(text);
      if (problem !== undefined) problems.push({ field, problem });
      const name = placeholder.exec(text)?.[1];
      if (problem !== undefined || name === undefined || !helper) continue;
      const holder = keys
        .slice(0, -1)
        .reduce((value: unknown, key) => (value as StepDefinition)[key], parameters);
      placeholders.push({ name, step: at, field, inner, helper, keys, isItem: Array.isArray(holder) });
    }
  });

  /** What a step's helper says without a parameter, and with an empty object, which hardly any takes, for the others. */
  function problemsOf(at: number, without?: string): FieldProblem[] {
    const filled = fill(steps[at], `steps.${at}`, (name) => (name === without ? undefined : {}));
    const nameField = (_: number, field: string) => fieldInStep(at, field);
    return readSteps([filled], registry, { dryrun: false, anyEngine: true, nameField }).problems;
  }

  const whatever = steps.map((_, at) => problemsOf(at));
  const open = placeholders.filter((place) => schemaAt(place) !== undefined);
  // What holds a parameter may be right with its value.
  const isOpen = (field: string) =>
    open.some((place) => isFieldOf(field, place.field) || isFieldOf(place.field, field));
  const refused = new Set(problems.map(({ field }) => field));
  problems.push(...whatever.flat().filter(({ field }) => !refused.has(field) && !isOpen(field)));

  /** Whether no call is right without a parameter. */
  function isNeeded(name: string): boolean {
    const own = placeholders.filter((place) => place.name === name);
    if (own.some(({ isItem }) => isItem)) return true;
    return [...new Set(own.map(({ step }) => step))].some((at) => {
      const before = new Set(whatever[at]?.map(({ field }) => field));
      for (const { field } of own) before.delete(field);
      return problemsOf(at, name).some(({ field }) => !before.has(field));
    });
  }

  return { steps, placeholders, problems, gone, isNeeded };
}

/** The parameters of a recipe as a schema, with what they have from their places. */
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
  if (names.length > mostParameters) {
    refuse('steps', `must have at most ${mostParameters} parameters, but has ${names.length}`);
  }
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  const inherited = new Map<string, unknown>();
  const { derive, definitions } = createDerivation(ajv);
  for (const name of names.slice(0, mostParameters)) {
    const own = placeholders.filter((place) => place.name === name);
    const derived = derive(
      own,
      Object.hasOwn(entries, name) ? (entries[name] as ParameterEntry) : {},
      (keyword, problem) => refuse(`${joinField('input', name)}.${keyword}`, problem),
    );
    properties[name] = derived.schema;
    if ('inherited' in derived) inherited.set(name, derived.inherited);
    // Where the steps are wrong anyway, nothing is made of it.
    if (faults.length === 0 && !('default' in derived.schema) && isNeeded(name)) required.push(name);
  }
  return { properties, required, inherited, definitions, problems: [...problems.values()] };
}

type Parts = Omit<Template, 'problems'> & Omit<ReturnType<typeof deriveParameters>, 'problems'>;

function createRecipe(
  id: string,
  { summary, description, steps, format }: Definition,
  { placeholders, properties, required, inherited, definitions }: Parts,
  { registry, ajv }: { registry: Registry; ajv: Ajv },
): Helper {
  const { format: formatParameter, quality } = outputParameters;
  const hasQuality =
    format === undefined || pictureOutputRules.quality.format.some((each) => each === format);
  const declaration: DeclaredHelper = {
    ...stepsDeclaration,
    summary: summary ?? `Runs ${steps.map(({ use }) => use).join(', then ')}.`,
    ...(description === undefined ? {} : { description }),
    input: {
      type: 'object',
      required,
      properties: {
        ...properties,
        ...(format === undefined ? { format: formatParameter } : {}),
        ...(hasQuality ? { quality } : {}),
      },
      ...(format === undefined ? { onlyWith: pictureOutputRules } : {}),
      ...(Object.keys(definitions).length > 0 ? { definitions } : {}),
    },
    examples: [],
  };
  const parameters = compileParameters(ajv, declaration, { checked: true });
  // What cannot be compiled is to fail here, and not in a call.
  parameters.prepare();
  const placeOf = new Map(placeholders.map((place) => [place.field, place]));

  /** What a caller calls a value of a step: by the parameter that stands there, in it or around it, or the first of the step. */
  function nameField(step: number, field: string): string {
    const own = placeholders.filter((place) => place.step === step);
    const around = own.find(({ inner }) => isFieldOf(field, inner));
    if (around) return around.name + field.slice(around.inner.length);
    return (own.find(({ inner }) => isFieldOf(inner, field)) ?? own[0])?.name ?? field;
  }

  const read: ReadSteps = (input, { dryrun }): CallSteps => {
    const valueFor = (name: string, field: string) => {
      // A default that is sent may make no sense beside other values, where one that is left out does.
      const value = Object.hasOwn(input, name) ? input[name] : undefined;
      const isDefault = inherited.has(name) && isDeepStrictEqual(value, inherited.get(name));
      return isDefault && !placeOf.get(field)?.isItem ? undefined : value;
    };
    const filled = steps.map((step, at) => fill(step, `steps.${at}`, valueFor));
    const found = readSteps(filled, registry, { dryrun, nameField });
    const problems = [...new Map(found.problems.map((each) => [each.field, each])).values()];
    return { ...found, problems, format: format ?? (input.format as string | undefined) };
  };
  return {
    id,
    file: '',
    url: '',
    declaration,
    version: hash('sha256', JSON.stringify([declaration, steps, format]), 'base64url'),
    parameters:
      format === undefined ? parameters : { ...parameters, check: withFormat(parameters.check, format) },
    readSteps: read,
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

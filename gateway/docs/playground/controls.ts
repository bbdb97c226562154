import { describeProperty } from '../../../schemas/describe.js';
import {
  asSchema,
  findTag,
  followReference,
  isObject,
  type JsonSchema,
  type Tag,
  typesOf,
} from '../../../schemas/json-schema.js';
import type { ControlForm } from '../../../schemas/keywords/keyword.js';
import { askKeywords } from '../../../schemas/keywords/keywords.js';
import { type Condition, onlyWithOf } from '../../../schemas/keywords/only-with.js';

interface Common {
  /** The parameter, with the path to it where it is nested: `size.width`. */
  path: string;
  description?: string;
  /** What is allowed, as a noun. */
  allowed: string;
  required: boolean;
  /** Absent where there is none. */
  default?: unknown;
  /** The values of other parameters that it goes with; beside any it is sent where this is absent. */
  onlyWith?: readonly Condition[];
}

/** A value that is one text on the page; `types` are those that the text may have. */
type Scalar<Form> = Common & { types: readonly string[] } & Form;
type OwnForm<Kind> = Scalar<Extract<ControlForm, { kind: Kind }>>;

export type ChoiceControl = OwnForm<'choice'>;

interface NumberForm {
  kind: 'number';
  min?: number;
  max?: number;
  step: number;
  /** Whether there is a slider: both bounds are known and near enough to each other. */
  slider: boolean;
  unit?: string;
}

/** How one parameter without parts is given on a page. */
export type FieldControl =
  /** `sendsEmpty`: an empty text is a value, and not the absence of one. */
  | Scalar<{ kind: 'text'; multiline: boolean; sendsEmpty: boolean }>
  | Scalar<NumberForm>
  | OwnForm<'choice' | 'color' | 'measure'>
  /** A text with a slider from 0 to 1 beside it. */
  | Scalar<{ kind: 'fraction' }>
  /** Texts with commas between them; `types` are those of an item. */
  | Scalar<{ kind: 'list' }>
  /** JSON is for any other value. */
  | (Common & { kind: 'switch' | 'json' });

export type Control =
  | FieldControl
  | (Common & { kind: 'group'; members: readonly Control[] })
  /** Alternatives that a property distinguishes. */
  | (Common & {
      kind: 'variants';
      tag: ChoiceControl;
      variants: readonly { value: unknown; members: readonly Control[] }[];
    });

/** Longer texts get several lines. */
const longText = 1000;
/** Steps that a slider can still be set to, more or less. */
const mostSteps = 10_000;
/** Deeper values are easier to write than to click together. */
const deepest = 4;
/** Fields of one object; more are a document, and no form. */
const mostMembers = 40;

interface Place {
  path: string;
  required: boolean;
  depth: number;
  /** The schema that references point into. */
  root: JsonSchema;
}

/** The control for one parameter, by its schema; `root` is the schema that references point into. */
export function controlOf(
  path: string,
  declared: JsonSchema,
  { root, required }: { root: JsonSchema; required: boolean },
): Control {
  const control = choose(declared, { path, required, depth: 0, root });
  const onlyWith = onlyWithOf(root).get(path);
  return onlyWith === undefined ? control : { ...control, onlyWith };
}

function choose(declared: JsonSchema, place: Place): Control {
  const { path, required, root } = place;
  // Keywords beside a reference are about this use of it.
  const schema = declared.$ref === undefined ? declared : { ...followReference(declared, root), ...declared };
  const types = typesOf(schema);
  const common = {
    path,
    required,
    allowed: describeProperty(declared, root),
    ...(typeof schema.description === 'string' ? { description: schema.description } : {}),
    ...('default' in schema ? { default: schema.default } : {}),
  };
  const scalar = { ...common, types };
  const own = askKeywords(schema, (keyword, setting) => keyword.control?.(setting));
  if (own?.kind === 'pixels') return { ...scalar, kind: 'number', unit: 'px', ...rangeOf({ ...own }, true) };
  if (own) return { ...scalar, ...own };
  const options = optionsOf(schema);
  if (options !== undefined) return { ...scalar, kind: 'choice', options };
  if (types.join() === 'boolean') return { ...common, kind: 'switch' };
  if (types.join() === 'array') return listOf(schema, place, common);
  if (types.join() === 'object') return objectOf(schema, place, common) ?? { ...common, kind: 'json' };
  if (types.length === 1 && (types[0] === 'integer' || types[0] === 'number')) {
    return { ...scalar, kind: 'number', ...rangeOf(schema, types[0] === 'integer') };
  }
  if (types.length === 0 || types.includes('object') || types.includes('array')) {
    return { ...common, kind: 'json' };
  }
  const isPlain = types.join() === 'string';
  const isLong = typeof schema.maxLength !== 'number' || schema.maxLength > longText;
  const takesEmpty =
    isPlain && !(Number(schema.minLength) > 0) && !('pattern' in schema || 'format' in schema);
  const hasText = typeof schema.default === 'string' && schema.default !== '';
  const sendsEmpty = takesEmpty && (required || hasText);
  return { ...scalar, kind: 'text', multiline: isPlain && isLong && !('format' in schema), sendsEmpty };
}

function optionsOf(schema: JsonSchema): unknown[] | undefined {
  const options = 'const' in schema ? [schema.const] : schema.enum;
  if (!Array.isArray(options) || options.length === 0) return undefined;
  return options.every((option) => typeof option !== 'object' || option === null) ? options : undefined;
}

function rangeOf({ minimum, maximum, multipleOf }: JsonSchema, whole: boolean) {
  const bounds = {
    ...(typeof minimum === 'number' ? { min: minimum } : {}),
    ...(typeof maximum === 'number' ? { max: maximum } : {}),
  };
  const span = bounds.min === undefined || bounds.max === undefined ? 0 : bounds.max - bounds.min;
  const fine = span > 0 ? 10 ** Math.floor(Math.log10(span / 100)) : 0.1;
  const step = typeof multipleOf === 'number' ? multipleOf : whole ? 1 : fine;
  return { ...bounds, step, slider: span > 0 && span / step <= mostSteps };
}

function listOf(schema: JsonSchema, { root }: Place, common: Common): Control {
  const items = followReference(asSchema(schema.items), root);
  const types = typesOf(items);
  const isPlain = types.length > 0 && !types.includes('object') && !types.includes('array');
  return isPlain ? { ...common, kind: 'list', types } : { ...common, kind: 'json' };
}

/** Fields for an object whose properties are known; undefined where it has others too, or too many of them. */
function objectOf(schema: JsonSchema, place: Place, common: Common): Control | undefined {
  const { allOf, anyOf, oneOf = anyOf, additionalProperties: others } = schema;
  const isOpen = isObject(others) || others === true || schema.patternProperties !== undefined;
  if (place.depth >= deepest || isOpen || allOf !== undefined) return undefined;
  if (Array.isArray(oneOf)) {
    const tag = findTag(oneOf, schema, place.root);
    return tag && variantsOf(schema, oneOf, tag, place, common);
  }
  const members = membersOf(schema, place);
  if (members.length === 0 || members.length > mostMembers) return undefined;
  return { ...common, kind: 'group', members };
}

function membersOf(schema: JsonSchema, { path, depth, root }: Place, except?: string): Control[] {
  const all = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(asSchema(schema.properties))
    .filter(([name]) => name !== except)
    .map(([name, value]) => {
      const required = all.includes(name);
      return choose(asSchema(value), { path: `${path}.${name}`, required, depth: depth + 1, root });
    });
}

function variantsOf(
  schema: JsonSchema,
  branches: readonly unknown[],
  { name, values }: Tag,
  place: Place,
  common: Common,
): Control {
  const { path, required, root } = place;
  const options = values.flat();
  const allowed = describeProperty({ enum: options }, root);
  const types = typesOf({ enum: options });
  const tag: ChoiceControl = { kind: 'choice', path: `${path}.${name}`, required, allowed, types, options };
  const shared = membersOf(schema, place, name);
  const variants = branches.flatMap((branch, at) => {
    const members = membersOf(followReference(asSchema(branch), root), place, name);
    return (values[at] ?? []).map((value) => ({ value, members: [...shared, ...members] }));
  });
  return { ...common, kind: 'variants', tag, variants };
}

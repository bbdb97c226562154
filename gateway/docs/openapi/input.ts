import { type Components, createConverter } from '../../../schemas/convert-schema.js';
import type { FileField, HelperExample } from '../../../schemas/declared-helper.js';
import { asSchema, type JsonSchema } from '../../../schemas/json-schema.js';
import { withDependencies } from '../../../schemas/keywords/only-with.js';
import { formsOf } from '../../../schemas/parameters/coerce.js';
import { describeFile } from '../../../schemas/parameters/compile-schema.js';
import { type ParameterProperty, uploadsOf } from '../../../schemas/parameters/parameters.js';
import { closeNested, liftRequired } from '../../../schemas/parameters/rewrite.js';
import type { Helper } from '../../plugins/registry.js';
import { componentPrefix } from './responses.js';

/** A file that may replace a parameter. */
type StandIn = FileField & { insteadOf: string };

/** A helper's parameters as schemas of a document. */
interface InputSchemas {
  /** Of each parameter alone. */
  properties: Readonly<Record<string, JsonSchema>>;
  /** All of them as one object, with what is required but for files. */
  whole: JsonSchema;
  /** Files that must be given, by a url or as an upload. */
  requiredFiles: readonly FileField[];
  /** Files that may replace a parameter: one of the two must be given. */
  standIns: readonly StandIn[];
  /** The same for a dry run, where that requires less. */
  dryRun: JsonSchema | undefined;
}

/** The schemas of a helper's parameters; targets of their references become components. */
export function inputSchemas({ id, declaration, parameters }: Helper, components: Components): InputSchemas {
  const { $id: _, ...input } = declaration.input;
  const declared = Object.fromEntries(
    parameters.properties.map(({ name, schema }) => [name, withExample(name, schema, declaration.examples)]),
  );
  const closed = closeNested({ ...input, properties: declared, additionalProperties: false });
  const convert = createConverter(closed, componentPrefix(id), components);
  const properties = Object.entries(asSchema(closed.properties));
  const requiredFiles = declaration.files.filter(({ required }) => required);
  const standIns = declaration.files.filter((file): file is StandIn => file.insteadOf !== undefined);
  const lifted = liftRequired(closed);
  const asksForFiles = requiredFiles.length > 0 || standIns.length > 0;
  const liftsSomething = asksForFiles || JSON.stringify(lifted) !== JSON.stringify(closed);
  return {
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, convert(asSchema(schema))])),
    whole: convert(withDependencies(closed)),
    requiredFiles,
    standIns,
    dryRun:
      liftsSomething && declaration.dryrun !== 'run'
        ? asDryRun(convert(withDependencies(lifted)))
        : undefined,
  };
}

function asDryRun(schema: JsonSchema): JsonSchema {
  const properties = asSchema(schema.properties);
  const { default: _, ...dryrun } = asSchema(properties.dryrun);
  return {
    ...schema,
    title: 'A dry run',
    required: ['dryrun'],
    properties: { ...properties, dryrun: { ...dryrun, const: true } },
  };
}

/** A schema with a value that pages can show and fill in, of the first example where it has one. */
function withExample(name: string, schema: JsonSchema, [example]: readonly HelperExample[]): JsonSchema {
  if (name === 'dryrun') return { ...schema, default: false };
  const value = example?.input[name];
  return value === undefined || schema.examples !== undefined ? schema : { ...schema, examples: [value] };
}

/** How a value is written in a query or a form: as it is, as a list with commas, or as JSON. */
type Written = 'plain' | 'list' | 'json';

/** The simplest way to write all values of a parameter. */
function writtenAs(schema: JsonSchema, root: JsonSchema): Written {
  const forms = formsOf(schema, root);
  if (forms.length === 0 || !forms.every(({ type }) => type === 'array' || type === 'object')) return 'plain';
  return forms.every(({ item }) => item !== undefined) ? 'list' : 'json';
}

/** The parameters of a GET request, which cannot express that a dry run requires nothing. */
export function queryParameters(
  { declaration, parameters }: Helper,
  { properties, requiredFiles }: InputSchemas,
): object[] {
  const [example] = declaration.examples;
  return parameters.properties.map((property) => {
    const { name } = property;
    const { description: _, ...schema } = properties[name] ?? {};
    const isFile = requiredFiles.some(({ parameter }) => parameter === name);
    return {
      name,
      in: 'query',
      required: property.required || isFile,
      description: describeParameter(property),
      ...inQuery(schema, writtenAs(property.schema, declaration.input), example?.input[name]),
    };
  });
}

function describeParameter({ schema, allowed }: ParameterProperty): string {
  if (typeof schema.description === 'string') return schema.description;
  return `${allowed.charAt(0).toUpperCase()}${allowed.slice(1)}.`;
}

function inQuery(schema: JsonSchema, written: Written, example: unknown): object {
  const shown = example === undefined ? {} : { example };
  if (written === 'json') return { content: { 'application/json': { schema, ...shown } } };
  if (written === 'list') return { style: 'form', explode: false, schema, ...shown };
  return { schema, ...shown };
}

const exampleUrl = 'https://example.com/picture.jpg';

/** The body of a POST request in each of its forms; there need not be one where nothing is required. */
export function requestBody(helper: Helper, schemas: InputSchemas): object {
  const { declaration } = helper;
  const needed = namesIn(schemas.whole).length + schemas.requiredFiles.length + schemas.standIns.length;
  const form = { schema: withUrls(schemas), encoding: encodingOf(helper) };
  return {
    required: needed > 0,
    content: {
      'application/json': { schema: jsonSchema(schemas), ...examplesOf(declaration.examples, schemas) },
      'application/x-www-form-urlencoded': withoutEmpty(form),
      'multipart/form-data': withoutEmpty(multipart(helper, schemas)),
    },
  };
}

/** A dry run is another object, which requires only `dryrun`. */
function jsonSchema(schemas: InputSchemas): JsonSchema {
  const { dryRun } = schemas;
  const call = withUrls(schemas);
  return dryRun === undefined ? call : { anyOf: [{ title: 'A call', ...call }, dryRun] };
}

/** Where no file can be uploaded, it is given by its url. */
function withUrls({ whole, requiredFiles, standIns }: InputSchemas): JsonSchema {
  const urls = requiredFiles.map(({ parameter }) => parameter);
  const required = [...new Set([...urls, ...namesIn(whole)])];
  const alternatives = standIns.map(({ insteadOf, parameter }) => ({
    oneOf: [{ required: [insteadOf] }, { required: [parameter] }],
  }));
  const all = [...(Array.isArray(whole.allOf) ? whole.allOf : []), ...alternatives];
  return {
    ...whole,
    ...(required.length > 0 ? { required } : {}),
    ...(all.length > 0 ? { allOf: all } : {}),
  };
}

/** Only descriptions say here that a parameter or its file is required, because pages send untouched fields empty. */
function multipart(helper: Helper, { whole }: InputSchemas): { schema: JsonSchema; encoding: object } {
  const { files } = helper.declaration;
  const uploads = Object.fromEntries(files.map((file) => [file.field, uploadOf(file)]));
  return {
    schema: { ...whole, properties: { ...uploads, ...withoutUrls(whole, files), ...uploads } },
    encoding: encodingOf(helper),
  };
}

/** The parameters; a file's url may stay empty beside its field, because only one of the two may be sent. */
function withoutUrls({ properties }: JsonSchema, files: readonly FileField[]): JsonSchema {
  const own = asSchema(properties);
  const urls = files.map(({ parameter }) => {
    const { minLength: _, ...url } = asSchema(own[parameter]);
    return [parameter, { ...url, example: '' }];
  });
  return { ...own, ...Object.fromEntries(urls) };
}

/**
 * Lists are written with commas, in forms as in a query. Deeper values are JSON by default: an explicit type makes swagger-ui send a
 * file of that type, and an empty file for an untouched field.
 */
function encodingOf({ declaration, parameters }: Helper): Record<string, object> {
  const lists = parameters.properties.filter(({ schema }) => writtenAs(schema, declaration.input) === 'list');
  return Object.fromEntries(lists.map(({ name }) => [name, { style: 'form', explode: false }]));
}

function uploadOf(file: FileField): JsonSchema {
  const { kind, field, parameter, types } = file;
  const [only, ...others] = types ?? (kind === 'image' ? ['image/*'] : ['application/octet-stream']);
  const what = describeFile(file) ?? (kind === 'image' ? 'The picture itself' : 'The file itself');
  const url = field === parameter ? 'its url does as well' : `in place of ${parameter}`;
  return {
    type: 'string',
    format: 'binary',
    contentMediaType: others.length === 0 ? only : 'application/octet-stream',
    description: `${what.replace(/\.$/, '')}; ${url}.${types ? ` Of the type ${types.join(', ')}.` : ''}`,
  };
}

/** As JSON: an example's uploads are urls here. */
function examplesOf(examples: readonly HelperExample[], { requiredFiles, standIns }: InputSchemas): object {
  if (examples.length === 0) return {};
  const named = examples.map(({ summary, input }, at) => {
    const uploads = input.dryrun === true ? [] : uploadsOf([...requiredFiles, ...standIns], input);
    const files = [...requiredFiles, ...standIns].filter(({ field }) => uploads.includes(field));
    const urls = Object.fromEntries(files.map(({ parameter }) => [parameter, exampleUrl]));
    return [
      `example-${at + 1}`,
      { ...(summary === undefined ? {} : { summary }), value: { ...urls, ...input } },
    ];
  });
  return { examples: Object.fromEntries(named) };
}

function namesIn({ required }: JsonSchema): string[] {
  return Array.isArray(required) ? required : [];
}

function withoutEmpty({ schema, encoding }: { schema: JsonSchema; encoding: object }): object {
  return Object.keys(encoding).length > 0 ? { schema, encoding } : { schema };
}

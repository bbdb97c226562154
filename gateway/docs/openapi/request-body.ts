import type { FileField, HelperExample } from '../../../schemas/declared-helper.js';
import { asSchema, type JsonSchema } from '../../../schemas/json-schema.js';
import { describeFile } from '../../../schemas/parameters/gateway-parameters.js';
import { uploadsOf } from '../../../schemas/parameters.js';
import type { Helper } from '../../helpers/registry.js';
import type { InputSchemas } from './input-schemas.js';
import { writtenAs } from './query.js';

/** Where a picture of an example is said to lie. */
const someUrl = 'https://example.com/picture.jpg';

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

/** A dry run is another object: nothing is required in it but that it says so. */
function jsonSchema(schemas: InputSchemas): JsonSchema {
  const { rehearsal } = schemas;
  const call = withUrls(schemas);
  return rehearsal === undefined ? call : { anyOf: [{ title: 'A call', ...call }, rehearsal] };
}

/** Where no file can be uploaded, a required one comes by its url, and so does one in the place of a parameter. */
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

/** That one of a parameter and a file has to come is left to descriptions here, where pages send empty what nobody touched. */
function multipart(helper: Helper, { whole }: InputSchemas): { schema: JsonSchema; encoding: object } {
  const { files } = helper.declaration;
  const uploads = Object.fromEntries(files.map((file) => [file.field, uploadOf(file)]));
  return {
    schema: { ...whole, properties: { ...uploads, ...withoutUrls(whole, files), ...uploads } },
    encoding: encodingOf(helper),
  };
}

/** The parameters; beside a file's field the one of its url may stay empty, and pages leave it so: only one may be sent. */
function withoutUrls({ properties }: JsonSchema, files: readonly FileField[]): JsonSchema {
  const own = asSchema(properties);
  const urls = files.map(({ parameter }) => {
    const { minLength: _, ...url } = asSchema(own[parameter]);
    return [parameter, { ...url, example: '' }];
  });
  return { ...own, ...Object.fromEntries(urls) };
}

/**
 * Lists are written with commas, in forms as in a query. What is deeper is JSON, which goes without saying: said, it makes swagger-ui
 * send a file of that type, and of a file's field that nobody touched an empty one.
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

/** As JSON: what an example would upload has a url here. */
function examplesOf(examples: readonly HelperExample[], { requiredFiles, standIns }: InputSchemas): object {
  if (examples.length === 0) return {};
  const named = examples.map(({ summary, input }, at) => {
    const uploads = input.dryrun === true ? [] : uploadsOf([...requiredFiles, ...standIns], input);
    const files = [...requiredFiles, ...standIns].filter(({ field }) => uploads.includes(field));
    const urls = Object.fromEntries(files.map(({ parameter }) => [parameter, someUrl]));
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

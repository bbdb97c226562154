import type { FileField } from '../../../../schemas/declared-helper.js';
import { GatewayError } from '../../../errors.js';
import type { AnswerForm } from '../result-places.js';
import type { ServerClient } from './server-client.js';

/** What a gateway's document says of one of its helpers, as far as a command line needs it. */
export interface ServedHelper {
  id: string;
  summary: string;
  /** Names and descriptions of its parameters. */
  parameters: { name: string; description: string; isBoolean: boolean }[];
  files: Pick<FileField, 'field' | 'parameter' | 'types'>[];
  form: AnswerForm;
}

interface Schema {
  type?: unknown;
  default?: unknown;
  format?: string;
  contentMediaType?: string;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
}

interface Operation {
  summary?: string;
  parameters?: { name?: string; in?: string; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  responses?: Record<string, { content?: Record<string, unknown> } | undefined>;
}

interface Document {
  paths?: Record<string, { get?: Operation; post?: Operation } | undefined>;
}

/** Whose parameters they are is the gateway's, not a helper's. */
const notItsOwn = new Set(['ak']);

/**
 * Looks a helper up in the gateway's OpenAPI document; undefined where it has none of this name, with those that it has. A gateway
 * that shows no document (`HELPER_DOCS=off`) is taken at the caller's word.
 */
export async function findServedHelper(
  client: ServerClient,
  id: string,
): Promise<{ helper: ServedHelper | undefined; others: { id: string; summary: string }[] }> {
  const { status, bytes } = await client.send('/openapi.json');
  if (status === 404) return { helper: id === '' ? undefined : undescribed(id), others: [] };
  if (status !== 200) throw noDocument(status);
  let document: Document;
  try {
    document = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw noDocument(status);
  }
  const { paths = {} } = document;
  const operation = paths[`/${id}`];
  const others = Object.keys(paths).flatMap((path) =>
    isHelper(path, paths[path]) ? [{ id: path.slice(1), summary: paths[path]?.get?.summary ?? '' }] : [],
  );
  return {
    helper: operation?.get && operation.post ? read(id, operation.get, operation.post) : undefined,
    others,
  };
}

/** Other paths have one part, or take what no helper does. */
function isHelper(
  path: string,
  item: Document['paths'] extends undefined | Record<string, infer T> ? T : never,
): boolean {
  return (
    item?.get !== undefined &&
    item.post !== undefined &&
    path.split('/').length > 2 &&
    !path.startsWith('/jobs')
  );
}

function read(id: string, get: Operation, post: Operation): ServedHelper {
  const parameters = (get.parameters ?? []).flatMap(({ name, in: place, description = '', schema }) =>
    name !== undefined && place === 'query' && !notItsOwn.has(name)
      ? [{ name, description, isBoolean: schema?.type === 'boolean' }]
      : [],
  );
  const names = new Set(parameters.map(({ name }) => name));
  const fields = propertiesOf(post.requestBody?.content?.['multipart/form-data']?.schema);
  const files = fields.flatMap(([field, { format, contentMediaType }]) => {
    if (format !== 'binary') return [];
    const parameter = [field === 'file' ? 'url' : `${field}_url`, field].find((name) => names.has(name));
    const types = contentMediaType?.split(',').map((type) => type.trim());
    return [{ field, parameter: parameter ?? field, ...(types ? { types } : {}) }];
  });
  const types = Object.keys(post.responses?.[200]?.content ?? {});
  const form = {
    onlyData: types.length > 0 && types.every((type) => type === 'application/json'),
    pictures: types.some((type) => type.startsWith('image/')),
    defaultFormat: (get.parameters ?? []).find(({ name }) => name === 'format')?.schema?.default,
  };
  return { id, summary: get.summary ?? '', parameters, files, form };
}

function propertiesOf({ properties = {}, allOf = [] }: Schema = {}): [string, Schema][] {
  return [...Object.entries(properties), ...allOf.flatMap(propertiesOf)];
}

function undescribed(id: string): ServedHelper {
  // Nothing is known of its answers, so a format that is named is believed.
  const form = { onlyData: false, pictures: true };
  return { id, summary: '', parameters: [], files: [{ field: 'file', parameter: 'url' }], form };
}

function noDocument(status: number): GatewayError {
  return new GatewayError('upstream_failed', {
    message: `What answers there is no gateway: its /openapi.json has status ${status}.`,
  });
}

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
/** Paths of the gateway's own that take both methods, as helpers do. */
const ownPath = /^\/jobs(?:\/|$)/;
/** No name of a file: those have a dot. */
const mayBeId = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*$/;

/** The helpers of a gateway. */
export interface ServedHelpers {
  list: { id: string; summary: string }[];
  find(id: string): ServedHelper | undefined;
}

/**
 * Reads what the gateway's OpenAPI document says of its helpers. One that shows no document (`HELPER_DOCS=off`) is taken at the
 * caller's word: it has whatever can be a helper's name.
 */
export async function readServedHelpers(client: ServerClient): Promise<ServedHelpers> {
  const { status, bytes } = await client.send('/openapi.json');
  if (status === 404) return { list: [], find: (id) => (mayBeId.test(id) ? undescribed(id) : undefined) };
  if (status !== 200) throw noDocument(status);
  let document: Document;
  try {
    document = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    throw noDocument(status);
  }
  const found = new Map<string, { get: Operation; post: Operation }>();
  for (const [path, { get, post } = {}] of Object.entries(document.paths ?? {})) {
    if (get && post && !ownPath.test(path)) found.set(path.slice(1), { get, post });
  }
  return {
    list: [...found].map(([id, { get }]) => ({ id, summary: get.summary ?? '' })),
    find(id) {
      const operations = found.get(id);
      return operations && read(id, operations.get, operations.post);
    },
  };
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

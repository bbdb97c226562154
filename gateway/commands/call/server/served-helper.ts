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
  /** Whether a call may not be sent again after its connection broke: it may have changed something. */
  once: boolean;
}

interface Schema {
  type?: unknown;
  default?: unknown;
  description?: string;
  format?: string;
  contentMediaType?: string;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
}

interface Operation {
  summary?: string;
  parameters?: { name?: string; in?: string; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema }> };
  'x-effects'?: boolean;
  'x-idempotent'?: boolean;
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
  const found = new Map<string, { get: Operation | undefined; post: Operation }>();
  for (const [path, { get, post } = {}] of Object.entries(document.paths ?? {})) {
    if ((get || post?.['x-effects']) && post && !ownPath.test(path)) found.set(path.slice(1), { get, post });
  }
  return {
    list: [...found].map(([id, { post }]) => ({ id, summary: post.summary ?? '' })),
    find(id) {
      const operations = found.get(id);
      return operations && read(id, operations.get, operations.post);
    },
  };
}

/** Parameters as of GET, or of the form of a helper that takes POST alone. */
function parametersOf(get: Operation | undefined, post: Operation): NonNullable<Operation['parameters']> {
  if (get) return get.parameters ?? [];
  const form = post.requestBody?.content?.['application/x-www-form-urlencoded']?.schema;
  return propertiesOf(form).map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
    description: schema.description ?? '',
  }));
}

function read(id: string, get: Operation | undefined, post: Operation): ServedHelper {
  const declared = parametersOf(get, post);
  const parameters = declared.flatMap(({ name, in: place, description = '', schema }) =>
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
    defaultFormat: declared.find(({ name }) => name === 'format')?.schema?.default,
  };
  const once = post['x-effects'] === true && post['x-idempotent'] !== true;
  return { id, summary: post.summary ?? '', parameters, files, form, once };
}

function propertiesOf({ properties = {}, allOf = [] }: Schema = {}): [string, Schema][] {
  return [...Object.entries(properties), ...allOf.flatMap(propertiesOf)];
}

function undescribed(id: string): ServedHelper {
  // Nothing is known of its answers, so a format that is named is believed.
  const form = { onlyData: false, pictures: true };
  return { id, summary: '', parameters: [], files: [{ field: 'file', parameter: 'url' }], form, once: false };
}

function noDocument(status: number): GatewayError {
  return new GatewayError('upstream_failed', {
    message: `What answers there is no gateway: its /openapi.json has status ${status}.`,
  });
}

import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import { openApiDocument } from '../../../../gateway/docs/openapi/document.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';

/** Folders of plugins with every kind of schema and answer. */
export const fixtureFolders = ['openapi', 'alternatives', 'good', 'pool', 'results'].map((name) =>
  fixture(`plugins/${name}`),
);

type Content = Record<
  string,
  { schema: Record<string, unknown>; examples?: Record<string, { value: unknown }> }
>;

/** As much of an operation as tests look at. */
export interface Operation {
  operationId: string;
  parameters: { name: string; required: boolean; schema?: unknown; content?: Content }[];
  requestBody: { required: boolean; content: Content };
  responses: Record<string, { content?: Content; headers?: object; $ref?: string }>;
  security?: object[];
}

/** The document of the shipped plugins and of those in these folders. */
export async function documentOf(folders: string[]) {
  const registry = await loadRegistry([builtinPlugins, ...folders], createVocabulary());
  const document = openApiDocument(registry, { version: '1.0.0' });
  const operation = (method: 'get' | 'post', path: string): Operation => {
    const item = document.paths[path] as Record<string, Operation> | undefined;
    if (item?.[method] === undefined) throw new Error(`no ${method} of ${path}`);
    return item[method];
  };
  return { document, operation };
}

/** The validators of a document's schemas, by the tokens of their places. */
export function validatorsOf(
  document: object,
  options: Options,
): (...tokens: string[]) => ValidateFunction | undefined {
  const ajv = new Ajv2020({ strict: false, ...options });
  ajv.addSchema({ ...document, $id: 'doc' });
  return function validatorAt(...tokens) {
    const escaped = tokens.map((token) =>
      encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1')),
    );
    return ajv.getSchema(`doc#/${escaped.join('/')}`);
  };
}

/** The tokens of the JSON schema of what an operation answers with a status; undefined where it is not described. */
export function placeOfAnswer(
  paths: Record<string, Partial<Record<string, Pick<Operation, 'responses'>>>>,
  [path, method, status]: [path: string, method: string, status: number],
): string[] | undefined {
  const response = paths[path]?.[method]?.responses[status];
  if (response === undefined) return undefined;
  const place = response.$ref?.slice(2).split('/') ?? ['paths', path, method, 'responses', String(status)];
  return [...place, 'content', 'application/json', 'schema'];
}

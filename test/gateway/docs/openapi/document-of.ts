import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { openApiDocument } from '../../../../gateway/docs/openapi/document.js';
import { loadRegistry } from '../../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../../gateway/plugins/paths.js';
import { createVocabulary } from '../../../../schemas/vocabulary.js';
import { fixture } from '../../../fixtures.js';
import type { Answer } from '../../harness.js';

/** Folders of plugins with every kind of schema and answer. */
const folders = ['openapi', 'alternatives', 'good', 'pool', 'results'];
export const fixtureFolders = folders.map((name) => fixture(`plugins/${name}`));

type Content = Record<string, { schema: Record<string, unknown> }>;

/** As much of an operation as tests look at. */
interface Operation {
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
    const found = (document.paths[path] as Record<string, Operation> | undefined)?.[method];
    if (found === undefined) throw new Error(`no ${method} of ${path}`);
    return found;
  };
  return { document, operation };
}

type Paths = Record<string, Partial<Record<string, Pick<Operation, 'responses'>>>>;

/** Compares answers and bodies with the schemas of a document. */
export function createComparison(document: object) {
  // Dozens of schemas, each for a few answers: what makes validators fast costs more than it saves.
  const quick = { inlineRefs: false, code: { optimize: false } };
  const ajv = new Ajv2020({ strict: false, ...quick, formats: { binary: true, 'date-time': true } });
  ajv.addSchema({ ...document, $id: 'doc' });

  function validatorAt(...tokens: string[]) {
    const escaped = tokens.map((token) => token.replaceAll('~', '~0').replaceAll('/', '~1'));
    const pointer = escaped.map(encodeURIComponent);
    const validate = ajv.getSchema(`doc#/${pointer.join('/')}`);
    if (!validate) throw new Error(`there is no schema at ${tokens.join(' ')}`);
    return validate;
  }

  function answerSchema(path: string, method: string, status: number): string[] {
    const response = (document as { paths: Paths }).paths[path]?.[method]?.responses[status];
    if (!response) throw new Error(`${method} ${path} ${status} is not described`);
    const own = ['paths', path, method, 'responses', String(status)];
    return [...(response.$ref?.slice(2).split('/') ?? own), 'content', 'application/json', 'schema'];
  }

  return {
    /** Fails where an answer is not as the document says of this method of this path. */
    expectDescribed({ status, json }: Answer, method: string, path: string): void {
      const what = `${method} ${path} ${status} ${JSON.stringify(json)}`;
      const validate = validatorAt(...answerSchema(path, method, status));
      if (json === undefined) expect(status, what).to.equal(200);
      else expect(validate(json), `${what}: ${JSON.stringify(validate.errors)}`).to.equal(true);
    },
    /** Whether the document allows this body of a POST. */
    accepts(path: string, body: unknown): boolean {
      const place = ['requestBody', 'content', 'application/json', 'schema'];
      return validatorAt('paths', path, 'post', ...place)(body) as boolean;
    },
  };
}

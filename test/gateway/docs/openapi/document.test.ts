import { readFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { errorTable } from '../../../../gateway/errors.js';
import type { Helper } from '../../../../gateway/plugins/registry.js';
import { type Answer, startTestGateway, type TestGateway } from '../../harness.js';
import { documentOf, fixtureFolders, type Operation, placeOfAnswer, validatorsOf } from './document-of.js';

describe('docs/openapi: the document', () => {
  let made: Awaited<ReturnType<typeof documentOf>>;
  before(async () => {
    made = await documentOf(fixtureFolders);
  });

  it('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(made.document));
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true);
    expect(validator.version).to.equal('3.1');
  });

  it('gives each operation an id of its own, whose words are the path’s', () => {
    const ids = Object.values(made.document.paths).flatMap((item) =>
      Object.values(item as object).map(({ operationId }) => operationId as string),
    );
    expect(new Set(ids).size).to.equal(ids.length);
    const ofDiff = ['getTextDiffTwoStrings', 'postTextDiffTwoStrings'];
    expect(ids).to.include.members([...ofDiff, 'postOddFiles', 'postOddFiles_2']);
  });

  it('has none of the vocabulary’s own keywords, nor draft-07’s', () => {
    const text = JSON.stringify(made.document);
    expect(text).not.to.match(/"(color|fraction|drawable|nullable)":true|"choice":|"\$id"|\/definitions\//);
    expect(text).not.to.match(/"additionalItems"|"dependencies":/);
  });

  it('writes lists of a query with commas, and what is deeper as JSON', () => {
    const { parameters } = made.operation('get', '/nasty');
    const named = (name: string) => parameters.find((each) => each.name === name);
    expect(named('numbers')).to.include({ style: 'form', explode: false });
    for (const name of ['tree', 'lists', 'shape']) {
      expect(named(name), name).to.have.nested.property('content.application/json.schema');
    }
    expect(named('odd')).to.include({ required: true });
  });

  it('accepts files in multipart alone, and their urls everywhere', () => {
    const { content, required } = made.operation('post', '/odd/files').requestBody;
    expect(required).to.equal(true);
    expect(content['multipart/form-data']).to.deep.nested.include({
      'schema.properties.logo.format': 'binary',
      'schema.properties.logo.contentMediaType': 'image/*',
      'schema.properties.notes.description':
        'The file itself; its url does as well. Of the type text/plain, text/markdown.',
    });
    expect(content['application/x-www-form-urlencoded']?.schema.required).to.deep.equal(['logo']);
  });

  it('needs no body where nothing is required', () => {
    expect(made.operation('post', '/shape').requestBody.required).to.equal(false);
    expect(made.operation('post', '/text/diff-two-strings').requestBody.required).to.equal(true);
  });

  it('may answer with a picture where the helper has one, and with data alone where that is described', () => {
    const ofPicture = made.operation('post', '/media/add-border').responses['200'];
    expect(Object.keys(ofPicture?.content ?? {})).to.include.members([
      'application/json',
      'image/png',
      '*/*',
    ]);
    const ofData = made.operation('post', '/nasty').responses['200'];
    expect(Object.keys(ofData?.content ?? {})).to.deep.equal(['application/json']);
  });

  it('has an ETag where pictures are made of pictures, and nowhere else', () => {
    const of = (path: string) => {
      const [get, post] = [made.operation('get', path), made.operation('post', path)];
      const conditional = get.parameters.some(({ name }) => name === 'If-None-Match');
      const tagged = [get, post].map(({ responses }) => Object.hasOwn(responses[200]?.headers ?? {}, 'ETag'));
      return { conditional, unchanged: ['304' in get.responses, '304' in post.responses], tagged };
    };
    const [both, get, none] = [
      [true, true],
      [true, false],
      [false, false],
    ];
    expect(of('/media/add-border')).to.deep.equal({ conditional: true, unchanged: get, tagged: both });
    expect(of('/text/remove-stopwords')).to.deep.equal({ conditional: false, unchanged: none, tagged: none });
  });

  it('names every error of the table that a helper can answer with, by its status', () => {
    const { responses } = made.operation('get', '/text/diff-two-strings');
    const ofTheSite = ['unauthorized', 'forbidden', 'exists'];
    for (const [code, { status }] of Object.entries(errorTable)) {
      if (ofTheSite.includes(code)) continue;
      const name = responses[status]?.$ref?.split('/').at(-1) ?? '';
      const response = made.document.components.responses[name];
      expect(JSON.stringify(response), `${status} ${code}`).to.include(`"${code}"`);
      if ('retryAfter' in errorTable[code as keyof typeof errorTable]) {
        expect(response).to.have.nested.property('headers.Retry-After');
      }
    }
  });

  it('accepts the key in both places, and none for the gateway’s health', () => {
    expect(made.document.security).to.deep.equal([{ bearer: [] }, { ak: [] }]);
    expect(made.operation('get', '/healthz')).to.deep.include({ security: [] });
  });

  it('accepts the three parameters of a signed url together, for GET alone and beside no parameter of the helper’s', () => {
    const { security, parameters } = made.operation('get', '/media/add-border');
    expect(security).to.deep.equal([{ bearer: [] }, { ak: [] }, { kid: [], exp: [], sig: [] }]);
    expect(parameters.map(({ name }) => name)).not.to.include.members(['sig']);
    expect(made.operation('post', '/media/add-border')).not.to.have.property('security');
    expect(made.document.components.securitySchemes.sig).to.include({
      type: 'apiKey',
      in: 'query',
      name: 'sig',
    });
  });
});

type Method = 'get' | 'post';

/** What a query can carry: text, lists with commas, and JSON. */
function queryOf(input: Record<string, unknown>): string {
  const texts = Object.entries(input).map(([name, value]) => {
    if (typeof value !== 'object') return [name, String(value)];
    const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== 'object');
    return [name, isPlainList ? value.join() : JSON.stringify(value)];
  });
  return new URLSearchParams(texts).toString();
}

describe('docs/openapi: of the gateway’s answers', function () {
  this.timeout(60_000);
  let gateway: TestGateway;
  let document: { paths: Record<string, Partial<Record<Method, Pick<Operation, 'responses'>>>> };
  let validatorAt: ReturnType<typeof validatorsOf>;
  before(async () => {
    // These end their worker, or never answer.
    const folders = fixtureFolders.filter((folder) => !/pool$|results$/.test(folder));
    gateway = await startTestGateway({ HELPER_PLUGINS: folders.join(':'), LOG_LEVEL: 'silent' });
    document = (await gateway.call('/openapi.json', { key: null })).json;
    // Dozens of schemas, each for a few answers: what makes validators fast costs more than it saves.
    const quick = { inlineRefs: false, code: { optimize: false } };
    validatorAt = validatorsOf(document, { ...quick, formats: { binary: true } });
  });
  after(() => gateway?.close());

  function expectDescribed(answer: Answer, path: string, method: Method): void {
    const what = `${method} ${path} ${answer.status} ${JSON.stringify(answer.json)}`;
    const place = placeOfAnswer(document.paths, [path, method, answer.status]);
    expect(place, `${what} is described`).not.to.equal(undefined);
    const validate = validatorAt(...(place ?? []));
    expect(validate, `${what} has a schema`).not.to.equal(undefined);
    if (answer.json !== undefined)
      expect(validate?.(answer.json), `${what}: ${JSON.stringify(validate?.errors)}`).to.equal(true);
    else expect(answer.status, what).to.equal(200);
  }

  function bodyValidator(path: string): ValidateFunction | undefined {
    return validatorAt('paths', path, 'post', 'requestBody', 'content', 'application/json', 'schema');
  }

  const callsOf = ({ id, declaration }: Helper) =>
    [...declaration.examples.map(({ input }) => input), { dryrun: true }].map((input) => ({
      path: `/${id}`,
      input,
    }));

  it('holds each example and each dry run, by GET and by POST', async () => {
    const calls = [...gateway.gateway.registry.values()].flatMap(callsOf);
    for (const { path, input } of calls) {
      expectDescribed(await gateway.call(`${path}?${queryOf(input)}`), path, 'get');
      const posted = await gateway.call(path, { body: input });
      expectDescribed(posted, path, 'post');
      if (posted.status === 200) {
        const validate = bodyValidator(path);
        expect(
          validate?.(input),
          `${path} ${JSON.stringify(input)} ${JSON.stringify(validate?.errors)}`,
        ).to.equal(true);
      }
    }
    expect(calls.length).to.be.above(15);
  });

  it('holds the pictures', async () => {
    const picture = new Blob([
      await readFile(new URL('../../../../../plugins/media/example.jpg', import.meta.url)),
    ]);
    for (const path of ['/media/add-border', '/team/size']) {
      const form = new FormData();
      form.set('file', picture, 'example.jpg');
      form.set('url', '');
      const answer = await gateway.call(path, { body: form });
      expect(answer.status, JSON.stringify(answer.json)).to.equal(200);
      expectDescribed(answer, path, 'post');
    }
  });

  it('holds the errors', async () => {
    const path = '/text/diff-two-strings';
    const answers: [string, Answer][] = [
      [path, await gateway.call(path)],
      [path, await gateway.call(path, { key: null })],
      [path, await gateway.call(path, { method: 'DELETE' })],
      [path, await gateway.call(path, { body: 'x', headers: { 'content-type': 'text/plain' } })],
      ['/media/add-border', await gateway.call('/media/add-border?url=http://127.0.0.1/')],
    ];
    expect(answers.map(([, { status }]) => status)).to.deep.equal([400, 401, 405, 415, 400]);
    for (const [path, answer] of answers) expectDescribed(answer, path, 'get');
  });

  it('holds what is refused of a body, as JSON Schema says', async () => {
    for (const input of [
      { odd: 'x' },
      { odd: 'a/b', ink: '#12345' },
      { odd: 'a/b', other: 1 },
      { pair: [1, 'x'], odd: 'a/b' },
      {},
    ]) {
      expect((await gateway.call('/nasty', { body: input })).status).to.equal(400);
      expect(bodyValidator('/nasty')?.(input), JSON.stringify(input)).to.equal(false);
    }
  });

  it('holds the gateway’s health', async () => {
    for (const path of ['/healthz', '/readyz']) expectDescribed(await gateway.call(path), path, 'get');
  });
});

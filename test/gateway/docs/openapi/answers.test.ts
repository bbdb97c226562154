import { readFile } from 'node:fs/promises';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import type { Helper } from '../../../../gateway/helpers/registry.js';
import { type Answer, startTestGateway, type TestGateway } from '../../harness.js';
import { fixtureFolders, type Operation } from './document-of.js';

type Method = 'get' | 'post';

/** What a query can carry: text, lists with commas, and JSON. */
function queryOf(input: Record<string, unknown>): string {
  const texts = Object.entries(input).map(([name, value]): [string, string] => {
    const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== 'object');
    return [
      name,
      isPlainList ? value.join() : typeof value === 'object' ? JSON.stringify(value) : String(value),
    ];
  });
  return new URLSearchParams(texts).toString();
}

describe('docs/openapi: of the gateway’s answers', function () {
  this.timeout(60_000);
  let gateway: TestGateway;
  let document: { paths: Record<string, Partial<Record<Method, Pick<Operation, 'responses'>>>> };
  let ajv: Ajv2020;
  before(async () => {
    // These end their worker, or never answer.
    const folders = fixtureFolders.filter((folder) => !/pool$|results$/.test(folder));
    gateway = await startTestGateway({ HELPER_PLUGINS: folders.join(':'), LOG_LEVEL: 'silent' });
    document = (await gateway.call('/openapi.json', { key: null })).json;
    // Dozens of schemas, each for a few answers: what makes validators fast costs more than it saves.
    const quick = { inlineRefs: false, code: { optimize: false } };
    ajv = new Ajv2020({ strict: false, ...quick, formats: { binary: true } });
    ajv.addSchema({ ...document, $id: 'doc' });
  });
  after(() => gateway?.close());

  function at(...tokens: string[]): string {
    return tokens
      .map((token) => encodeURIComponent(token.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
  }

  /** The judge of what an operation may answer with this status. */
  function judgeOf(path: string, method: Method, status: number): ValidateFunction | undefined {
    const json = ['content', 'application/json', 'schema'];
    const item = document.paths[path]?.[method]?.responses[status];
    if (item === undefined) return undefined;
    const place = item.$ref?.slice(2) ?? at('paths', path, method, 'responses', String(status));
    return ajv.getSchema(`doc#/${place}/${at(...json)}`);
  }

  function expectDescribed(answer: Answer, path: string, method: Method): void {
    const what = `${method} ${path} ${answer.status} ${JSON.stringify(answer.json)}`;
    const judge = judgeOf(path, method, answer.status);
    expect(judge, `${what} is described`).not.to.equal(undefined);
    if (answer.json !== undefined)
      expect(judge?.(answer.json), `${what}: ${JSON.stringify(judge?.errors)}`).to.equal(true);
    else expect(answer.status, what).to.equal(200);
  }

  function bodyJudge(path: string): ValidateFunction | undefined {
    const place = at('paths', path, 'post', 'requestBody', 'content', 'application/json', 'schema');
    return ajv.getSchema(`doc#/${place}`);
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
        const judge = bodyJudge(path);
        expect(judge?.(input), `${path} ${JSON.stringify(input)} ${JSON.stringify(judge?.errors)}`).to.equal(
          true,
        );
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
      expect(bodyJudge('/nasty')?.(input), JSON.stringify(input)).to.equal(false);
    }
  });

  it('holds the gateway’s health', async () => {
    for (const path of ['/healthz', '/readyz']) expectDescribed(await gateway.call(path), path, 'get');
  });
});

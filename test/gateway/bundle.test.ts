import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { type GatewayProcess, startGatewayProcess } from './harness.js';

const modules = `
const [{ defineHelper }, { call }] = await Promise.all([import('helper-gateway/helper'), import('helper-gateway/testing')]);
const own = (name) => import(new URL('dist/bundle/' + name, import.meta.resolve('helper-gateway/helper').replace(/dist.*/, '')).href);
const same = defineHelper === (await own('helper.js')).defineHelper && call === (await own('testing.js')).call;
`;
const input = `input: { type: 'object', properties: {} }`;

/** In a process of its own: the test runner would take a fault that escapes for its own. */
describe('a process of the bundle', function () {
  this.timeout(60_000);
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    for (const ending of ['mjs', 'ts']) {
      const source = `${modules}\nexport default defineHelper({ summary: 'Same', ${input}, handler: () => ({ same }) });\n`;
      await writeFile(
        join(folder, `same-${ending}.${ending}`),
        source.replace('(name)', ending === 'ts' ? '(name: string)' : '(name)'),
      );
    }
    for (const runs of ['pool', 'inline']) {
      const source = `export default { summary: 'Throws', ${input}, runs: '${runs}', handler() { throw new Error('on purpose') } };\n`;
      await writeFile(join(folder, `throws-${runs}.mjs`), source);
    }
    gateway = await startGatewayProcess({
      HELPER_DATA_DIR: join(folder, 'data'),
      HELPER_PLUGINS: `${folder}:${fixture('plugins/inline')}`,
      HELPER_RATE: '0',
    });
  });
  after(async () => {
    expect(await gateway?.stop()).to.equal(0);
    await rm(folder, { recursive: true });
  });

  const answerOf = (path: string) => fetch(`${gateway.url}${path}?ak=${gateway.first_key?.key}`);

  for (const ending of ['mjs', 'ts']) {
    it(`gives plugins from outside the modules that it runs itself, .${ending}`, async () => {
      const answer = (await (await answerOf(`/same-${ending}`)).json()) as { data: unknown };
      expect(answer.data).to.deep.equal({ same: true });
    });
  }

  for (const [runs, source] of [
    ['pool', 'pool/call-plugin.ts'],
    ['inline', 'gateway/pipeline/run-helper.ts'],
  ]) {
    it(`logs stacks that name source files and lines: ${runs}`, async () => {
      expect((await answerOf(`/throws-${runs}`)).status).to.equal(500);
      const line = await gateway.until(() =>
        gateway
          .written()
          .split('\n')
          .find((text) => text.includes('on purpose') && text.includes(`throws-${runs}`)),
      );
      expect(line).to.match(new RegExp(`throws-${runs}\\.mjs:1:\\d+.*/${source}:\\d+:\\d+`));
      expect(line).not.to.include('dist/bundle/');
    });
  }

  describe('with helpers on the main thread, which', () => {
    async function call(path: string): Promise<string> {
      const answer = await fetch(`${gateway.url}${path}&ak=${gateway.first_key?.key}`);
      const text = await answer.text();
      expect(text).not.to.include('secret');
      return `${answer.status} ${JSON.parse(text).error?.code ?? 'ok'}`;
    }

    /** Waits for a line that has this text, beyond what there was `before`. */
    function logged(text: string, before = 0): Promise<string> {
      const lines = () => gateway.written().slice(before).split('\n').slice(0, -1);
      return gateway.until(() => lines().find((line) => line.includes(text)));
    }

    for (const dryrun of ['', '&dryrun=1']) {
      for (const how of ['reject', 'timer', 'microtask', 'event']) {
        it(`cost their own call alone for what they let escape: ${how}${dryrun}`, async () => {
          const before = gateway.written().length;
          expect(await call(`/escape?how=${how}${dryrun}`)).to.equal('500 internal');
          expect(await logged('secret stray', before)).to.include('"path":"/escape"');
          const answered = gateway.written().length;
          expect(await call(`/escape?how=${how}&answer=1${dryrun}`)).to.equal('200 ok');
          expect(await logged('secret stray', answered)).to.include('failed after its answer');
          expect(await call('/escape?how=nothing&answer=1')).to.equal('200 ok');
        });
      }

      it(`have the time of a task${dryrun}`, async () => {
        expect(await call(`/never?${dryrun}`)).to.equal('504 helper_timeout');
      });
    }

    async function dataOf(query: string): Promise<{ main: boolean; calls: number }> {
      const answer = await fetch(`${gateway.url}/short?${query}&ak=${gateway.first_key?.key}`);
      return (await answer.json()).data;
    }

    it('take the calls of a pool helper that are short by its own word', async () => {
      expect(await dataOf('verdict=short')).to.include({ main: true });
      expect(await dataOf('verdict=long')).to.include({ main: false });
    });

    it('have run its short examples once before the first call, and told which of them fails', async () => {
      expect(await logged('example failed'))
        .to.include('"service":"short"')
        .and.include('secret handler');
      const { calls } = await dataOf('verdict=short');
      expect(calls).to.be.at.least(3);
    });

    for (const verdict of ['throw', 'reject', 'text', 'nothing']) {
      it(`fail its call where it cannot say whether that is short: ${verdict}`, async () => {
        const before = gateway.written().length;
        expect(await call(`/short?verdict=${verdict}`)).to.equal('500 internal');
        const message = verdict === 'throw' ? 'secret verdict' : 'inline must return true or false';
        expect(await logged(message, before)).to.include('"path":"/short"');
        expect(await call('/short?verdict=short')).to.equal('200 ok');
      });
    }

    for (const where of ['nasty', 'nasty-pool']) {
      for (const how of [
        'getter',
        'proxy',
        'thenable',
        'toJSON',
        'bigint',
        'cycle',
        'throws a trap',
        'throws a symbol',
        'throws no text',
        'rejects a trap',
      ]) {
        it(`and in the pool fail by name for what cannot be answered: ${where}, ${how}`, async () => {
          const before = gateway.written().length;
          expect(await call(`/${where}?how=${encodeURIComponent(how)}`)).to.equal('500 internal');
          await logged(`"service":"${where}"`, before);
          expect(await call('/escape?how=nothing&answer=1')).to.equal('200 ok');
        });
      }
    }

    it('may fail in what they started while they were loaded', async () => {
      const line = await logged('secret late import');
      expect(line).to.include('late-import');
      expect(await call('/late-import?')).to.equal('200 ok');
    });
  });
});

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

/** In a process of its own: the test runner would treat an error that escapes as its own. */
describe('a process of the bundle', function () {
  this.timeout(60_000);
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    const same = `${modules}\nexport default defineHelper({ summary: 'Same', ${input}, handler: () => ({ same }) });\n`;
    await writeFile(join(folder, 'same-mjs.mjs'), same);
    await writeFile(join(folder, 'same-ts.ts'), same.replace('(name)', '(name: string)'));
    const throws = `export default { summary: 'Throws', ${input}, handler() { throw new Error('on purpose') }`;
    await writeFile(join(folder, 'throws-pool.mjs'), `${throws} };`);
    await writeFile(join(folder, 'throws-inline.mjs'), `${throws}, runs: 'inline' };`);
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

  const answerOf = (path: string) => fetch(`${gateway.url}${path}&ak=${gateway.first_key?.key}`);

  /** Waits for a line that has this text, beyond what there was `before`. */
  function logged(text: string, before = 0): Promise<string> {
    const lines = () => gateway.written().slice(before).split('\n').slice(0, -1);
    return gateway.until(() => lines().find((line) => line.includes(text)));
  }

  it('gives plugins from outside the modules that it runs itself', async () => {
    for (const path of ['/same-mjs?', '/same-ts?'])
      expect((await (await answerOf(path)).json()).data, path).to.deep.equal({ same: true });
  });

  for (const [runs, source] of [
    ['pool', 'pool/call-plugin.ts'],
    ['inline', 'gateway/pipeline/run-helper.ts'],
  ]) {
    it(`logs stacks that name source files and lines: ${runs}`, async () => {
      const before = gateway.written().length;
      expect((await answerOf(`/throws-${runs}?`)).status).to.equal(500);
      const line = await logged('on purpose', before);
      expect(line).to.match(new RegExp(`throws-${runs}\\.mjs:1:\\d+.*/${source}:\\d+:\\d+`));
      expect(line).not.to.include('dist/bundle/');
    });
  }

  describe('with helpers on the main thread, which', () => {
    async function call(path: string): Promise<string> {
      const answer = await answerOf(path);
      const text = await answer.text();
      expect(text).not.to.include('secret');
      return `${answer.status} ${JSON.parse(text).error?.code ?? 'ok'}`;
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

    it('run the calls of a pool helper that it calls short, its examples before the first call', async () => {
      expect(await logged('example failed'))
        .to.include('"service":"short"')
        .and.include('secret handler');
      for (const verdict of ['short', 'long']) {
        const { data } = await (await answerOf(`/short?verdict=${verdict}`)).json();
        expect(data.main).to.equal(verdict === 'short');
        if (data.main) expect(data.calls).to.be.at.least(3);
      }
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

    const thrown = ['throws a trap', 'throws a symbol', 'throws no text', 'rejects a trap'];
    for (const how of ['getter', 'proxy', 'thenable', 'toJSON', 'bigint', 'cycle', ...thrown]) {
      it(`and in the pool fail by name for what cannot be answered: ${how}`, async () => {
        for (const where of ['nasty', 'nasty-pool']) {
          const before = gateway.written().length;
          expect(await call(`/${where}?how=${encodeURIComponent(how)}`)).to.equal('500 internal');
          await logged(`"service":"${where}"`, before);
          expect(await call('/escape?how=nothing&answer=1')).to.equal('200 ok');
        }
      });
    }

    it('may fail in what they started while they were loaded', async () => {
      const line = await logged('secret late import');
      expect(line).to.include('late-import');
      expect(await call('/late-import?')).to.equal('200 ok');
    });
  });
});

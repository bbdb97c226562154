import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js';

const modules = `
const [{ defineHelper }, { call }] = await Promise.all([import('helper-gateway/helper'), import('helper-gateway/testing')]);
const own = (name) => import(new URL('dist/bundle/' + name, import.meta.resolve('helper-gateway/helper').replace(/dist.*/, '')).href);
const same = defineHelper === (await own('helper.js')).defineHelper && call === (await own('testing.js')).call;
`;
const input = `input: { type: 'object', properties: {} }`;

describe('the bundle', function () {
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
    const env = { HELPER_DATA_DIR: join(folder, 'data'), HELPER_PLUGINS: folder };
    gateway = await startGatewayProcess(env);
  });
  after(async () => {
    await gateway?.stop();
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
    ['inline', 'gateway/pipeline/run-here.ts'],
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
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { batchWrites } from '../../../gateway/observability/log.js';

const module = new URL('../../../gateway/observability/log.js', import.meta.url).href;
const lines = 20;

/** Starts a process that logs so many lines in one turn and then does something. */
function start(then: string) {
  const code = `
    import { openJsonLog } from ${JSON.stringify(module)};
    const logger = openJsonLog('info');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const log = () => { for (let n = 0; n < ${lines}; n += 1) logger.info({ n, text: 'x'.repeat(300) }); };
    ${then}`;
  return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'pipe' });
}

async function loggedBefore(then: string): Promise<{ code: number; logged: number[] }> {
  const child = start(then);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  child.stderr.resume();
  const [code] = (await once(child, 'close')) as [number];
  const whole = text.split('\n').filter((line) => line !== '');
  return { code, logged: whole.map((line) => (JSON.parse(line) as { n: number }).n) };
}

const all = Array.from({ length: lines }, (_, n) => n);

describe('a log that is written in batches', function () {
  this.timeout(30_000);
  for (const [end, then, code] of [
    ['has nothing left to do', 'log();', 0],
    ['is ended by process.exit', 'log(); process.exit(3);', 3],
    ['is ended by an exception', "log(); throw new Error('x');", 1],
    ['is ended by a rejection', "log(); Promise.reject(new Error('x'));", 1],
    [
      'is ended by what listens for exceptions',
      "process.on('uncaughtException', (e) => { throw e; }); setTimeout(() => { log(); throw new Error('x'); }, 1);",
      7,
    ],
  ] as const) {
    it(`loses nothing where the process ${end}`, async () => {
      expect(await loggedBefore(then)).to.deep.equal({ code, logged: all });
    });
  }

  it('lets the process go on where its reader has gone', async () => {
    const child = start(
      "log(); process.stdin.once('end', () => { log(); setTimeout(() => console.error('alive'), 50); }).resume();",
    );
    child.stdout.once('data', () => child.stdout.destroy()).once('close', () => child.stdin.end());
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    const [code] = await once(child, 'close');
    expect({ code, text }).to.deep.equal({ code: 0, text: 'alive\n' });
  });

  it('comes in one write, or in several that a pipe takes whole', async () => {
    const written: string[] = [];
    const log = batchWrites({ write: (text) => written.push(text) });
    const turn = () => new Promise((resolve) => setTimeout(resolve, 30));
    log.write('one\n');
    log.write('two\n');
    expect(written).to.deep.equal([]);
    await turn();
    expect(written).to.deep.equal(['one\ntwo\n']);
    for (let n = 0; n < 3; n += 1) log.write(`${'x'.repeat(1999)}\n`);
    await turn();
    log.write(`${'x'.repeat(5000)}\n`);
    log.write('last\n');
    await turn();
    expect(written.slice(1).map(({ length }) => length)).to.deep.equal([4000, 2000, 5001, 5]);
  });
});

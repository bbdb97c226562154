import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.js';

/** In a process of its own: the test runner would take a fault that escapes for its own. */
describe('helpers on the main thread', function () {
  // A process starts.
  this.timeout(30_000);

  let gateway: GatewayProcess;
  let dataDir: string;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    gateway = await startGatewayProcess({
      HELPER_DATA_DIR: dataDir,
      HELPER_PLUGINS: fixture('plugins/inline'),
      HELPER_RATE: '0',
    });
  });

  after(async () => {
    expect(await gateway.stop()).to.equal(0);
    await rm(dataDir, { recursive: true });
  });

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

import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { runLocally } from '../../../../gateway/commands/call/call-here.js';
import { createInput, readUpload } from '../../../../gateway/commands/call/jobs.js';
import { readWords, serviceAt } from '../../../../gateway/commands/call/words.js';
import { openLocalHelpers } from '../../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../../gateway/config.js';
import type { LocalHelpers } from '../../../../gateway/local-helpers.js';
import { fixture } from '../../../fixtures.js';
import { bin, startChild } from '../../harness.js';

const picture = fileURLToPath(new URL('../../../../../plugins/media/example.jpg', import.meta.url));

describe('call', () => {
  const folder = mkdtempSync(join(tmpdir(), 'call-'));
  const config = loadConfig({
    HELPER_POOL_THREADS: '1',
    HELPER_MAX_TEXT_BYTES: '2000',
    HELPER_PLUGINS: fixture('plugins/agents'),
  });
  const log: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void log.push(line) });
  let local: LocalHelpers;

  before(async () => {
    local = await openLocalHelpers(config, pino({ level: 'silent' }));
  });
  after(async () => {
    await local.close();
    rmSync(folder, { recursive: true });
  });

  /** Runs it with this on standard input; `isTTY` says that a person looks at both streams. */
  async function run(
    words: string[],
    { stdin = '' as string | Readable, isTTY = false, signal = new AbortController().signal } = {},
  ) {
    const out: Uint8Array[] = [];
    let stderr = '';
    const code = await runLocally(words, {
      local,
      most: 3,
      input: createInput(
        typeof stdin === 'string' ? Readable.from([Buffer.from(stdin)]) : stdin,
        config.maxImageBytes,
      ),
      screen: {
        stdout: { write: (data) => out.push(Buffer.from(data as string)), isTTY },
        stderr: { write: (text) => (stderr += text), isTTY },
      },
      logger,
      signal,
    });
    const bytes = Buffer.concat(out);
    return { code, bytes, stdout: bytes.toString(), stderr };
  }

  it('prints data as JSON, and for people in lines', async () => {
    const words = ['text/remove-stopwords', '--text', 'the cat'];
    expect(await run(words)).to.include({ code: 0, stdout: '{"text":" cat"}\n', stderr: '' });
    expect((await run(words, { isTTY: true })).stdout).to.equal('{\n  "text": " cat"\n}\n');
  });

  it('prints the whole envelope, errors too', async () => {
    const { stdout } = await run(['text/remove-stopwords', '--text', '-', '--json'], { stdin: 'the cat\n' });
    expect(JSON.parse(stdout)).to.deep.include({ ok: true, data: { text: ' cat\n' } });
    const refused = await run(['text/remove-stopwords', '--txt', 'x', '--json']);
    expect(refused.code).to.equal(1);
    expect(
      JSON.parse(refused.stdout).error.details.map(({ field }: { field: string }) => field),
    ).to.have.members(['text', 'txt']);
  });

  it('tells people every problem in a line', async () => {
    const { code, stderr } = await run(['media/add-border', '--width', 'abc', '--widht', '3', picture]);
    expect(code).to.equal(1);
    expect(stderr.trimEnd().split('\n')).to.have.length(2);
    expect(stderr)
      .to.match(/^Error: width must be a whole number/)
      .and.to.contain('did you mean "width"?');
  });

  it('writes a picture to standard output, to a file, and to no terminal', async () => {
    const words = ['media/add-border', '--width', '9', picture];
    const png = [137, 80, 78, 71];
    expect([...(await run(words)).bytes.subarray(0, 4)]).to.deep.equal(png);
    expect([...(await run([...words, '--out', '-'])).bytes.subarray(0, 4)]).to.deep.equal(png);
    const out = join(folder, 'one.png');
    expect(await run([...words, '--out', out], { isTTY: true })).to.include({ code: 0, stdout: '' });
    expect([...readFileSync(out).subarray(0, 4)]).to.deep.equal(png);
    const shown = await run(words, { isTTY: true });
    expect([shown.code, shown.stdout]).to.deep.equal([1, '']);
    expect(shown.stderr).to.contain('--out FILE');
  });

  it('works on many files, and one that is bad costs the others nothing', async () => {
    const bad = join(folder, 'bad.jpg');
    writeFileSync(bad, 'no picture');
    const outDir = join(folder, 'out');
    const words = ['media/add-border', bad, picture, join(folder, 'none.jpg'), picture, '--out-dir', outDir];
    const { code, stdout } = await run(words);
    expect(code).to.equal(1);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ ok }) => ok).sort()).to.deep.equal([false, false, true, true]);
    expect(lines.find(({ file }) => file === bad).error.code).to.equal('bad_image');
    expect(readdirSync(outDir).sort()).to.deep.equal(['example-2.png', 'example.png']);
  });

  it('shows one line of progress on a terminal', async () => {
    const words = ['media/add-border', picture, picture, '--out-dir', join(folder, 'watched')];
    const { code, stdout, stderr } = await run(words, { isTTY: true });
    expect([code, stdout]).to.deep.equal([0, '']);
    expect(stderr).to.match(/2 of 2 files, [\d.]+ a second\n$/);
  });

  it('makes no call whose result would replace a source', async () => {
    const own = join(folder, 'own.png');
    expect((await run(['media/add-border', picture, '--out', own])).code).to.equal(0);
    const before = readFileSync(own);
    for (const words of [
      ['media/add-border', own, '--out-dir', folder],
      ['media/convert', own, '--format', 'same', '--out-dir', folder],
      ['media/add-watermark', picture, '--mark', own, '--out', own],
    ]) {
      const { code, stdout, stderr } = await run(words);
      expect([words, code, Buffer.compare(before, readFileSync(own))]).to.deep.equal([words, 1, 0]);
      const refusal = /out(-dir)? must be another (file|folder): the result of \S+ would replace/;
      expect(stdout + stderr).to.match(refusal);
    }
  });

  it('does not replace the file that standard input is read from', async function () {
    this.timeout(30_000);
    const own = join(folder, 'read.jpg');
    copyFileSync(picture, own);
    const stdin = openSync(own, 'r');
    const child = startChild(process.execPath, [bin, 'call', 'media/convert', '-', '--out', own], {
      stdio: [stdin, 'pipe', 'pipe'],
    });
    expect(await child.ended).to.equal(1);
    closeSync(stdin);
    expect(child.stderr()).to.include('out must be another file: the result of standard input');
    expect(readFileSync(own).equals(readFileSync(picture))).to.equal(true);
  });

  it('takes its bounds and its places from those of HTTP', async () => {
    const long = await run(['text/remove-stopwords', '--text', 'x'.repeat(3000), '--json']);
    expect(JSON.parse(long.stdout).error.code).to.equal('too_large');
    const file = await run(['text/remove-stopwords', '--text', 'x', picture]);
    expect(file.stderr).to.contain('file is not taken by this helper');
    // A value whose name was left out, and no file that is missing.
    const nameless = await run(['text/remove-stopwords', 'the cat']);
    expect(nameless.stderr)
      .to.contain('(--NAME VALUE), but here is "the cat"')
      .and.to.contain('text is required');
    const twice = await run(['text/diff-two-strings', '--a', '-', '--b', '-'], { stdin: 'x' });
    expect(twice.stderr).to.contain(
      'b is to be read from standard input, which a has been read from already',
    );
    expect((await run(['media/add-border', picture, picture, '--out', 'x'])).stderr).to.contain('--out-dir');
    const unwritable = await run(['media/add-border', picture, '--out', join(folder, 'none', 'x.png')]);
    expect([unwritable.code, unwritable.stderr]).to.deep.equal([
      1,
      `Error: out cannot be written to: there is no folder ${join(folder, 'none')}\n`,
    ]);
  });

  it('reads no more than any call may bring', async () => {
    const endless = () =>
      Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(1_000_000);
        })(),
      );
    const text = await run(['text/remove-stopwords', '--text', '-'], { stdin: endless() });
    expect(text.stderr).to.contain('too_large');
    expect((await run(['media/add-border', '-'], { stdin: endless() })).stderr).to.contain('too_large');
  });

  it('takes options before the helper too', async () => {
    expect((await run(['--help', 'media/add-border'])).stdout).to.contain('--width VALUE');
    const { stdout } = await run(['--json', 'text/remove-stopwords', '--text', 'the']);
    expect(JSON.parse(stdout)).to.have.property('ok', true);
    expect((await run(['--least', '2', 'counted', '--text', 'abba'])).code).to.equal(0);
    expect((await run(['--dryrun', 'media/add-border', '--width', '3'])).stdout).to.contain(
      '"border_width":3',
    );
  });

  it('logs the reason of a fault, which the answer does not tell', async () => {
    const { code, stderr } = await run(['broken']);
    expect([code, stderr]).to.deep.equal([
      1,
      'Error: The helper failed. This is a fault here, not in your request. (internal)\n',
    ]);
    expect(JSON.parse(log.join('')).err.message).to.equal('secret reason');
  });

  it('ends with 2 where there is no such helper, and names the nearest', async () => {
    const unknown = await run(['media/add-bordr']);
    expect([unknown.code, unknown.stdout]).to.deep.equal([2, '']);
    expect(unknown.stderr).to.contain('did you mean "media/add-border"?');
    expect((await run([])).code).to.equal(2);
    const { code, stdout } = await run(['x', '--json']);
    expect([code, JSON.parse(stdout).error.code]).to.deep.equal([2, 'not_found']);
  });

  it('explains each helper, with the files that its examples need', async () => {
    const { code, stdout } = await run(['media/add-watermark', '--help']);
    expect(code).to.equal(0);
    for (const { name } of local.registry.get('media/add-watermark')?.parameters.properties ?? []) {
      expect(stdout).to.contain(`--${name}`);
    }
    expect((await run(['--help'])).stdout).to.contain('media/add-border');
    expect(stdout).to.contain("--text '© Example 2026' --format jpg --file FILE\n");
    expect(stdout).to.contain('--scale 0.25 --opacity 0.8 --file FILE --mark FILE');
  });

  it('begins no file once it is interrupted', async () => {
    const words = ['media/add-border', picture, picture, '--out-dir', join(folder, 'interrupted')];
    const { code, stdout } = await run(words, { signal: AbortSignal.abort() });
    expect([code, stdout, existsSync(join(folder, 'interrupted'))]).to.deep.equal([130, '', false]);
  });

  it('finds helpers in ./helpers where no folder is named, as dev does', async function () {
    this.timeout(30_000);
    const cwd = mkdtempSync(join(folder, 'cwd-'));
    mkdirSync(join(cwd, 'helpers', 'text'), { recursive: true });
    const plugin = `export default { summary: 'Shouts.', runs: 'inline', input: { type: 'object', properties: { text: { type: 'string' } } },
      handler: ({ text }) => ({ text: text.toUpperCase() }) };`;
    writeFileSync(join(cwd, 'helpers', 'text', 'shout.mjs'), plugin);
    const { HELPER_PLUGINS: _, ...env } = process.env;
    const call = async (...words: string[]) => {
      const child = startChild(process.execPath, [bin, 'call', ...words], { cwd, env });
      return { code: await child.ended, stdout: child.stdout(), stderr: child.stderr() };
    };
    // Any other project's folder of that name, which is not even imported for a helper of the gateway.
    writeFileSync(join(cwd, 'helpers', 'open.js'), "console.error('ran'); export const open = 1;");
    const own = await call('text/remove-stopwords', '--text', 'the cat');
    expect([own.code, own.stderr]).to.deep.equal([0, '']);
    const other = await call('text/shout', '--text', 'hey');
    expect([other.code, other.stdout]).to.deep.equal([0, '{"text":"HEY"}\n']);
    expect(other.stderr).to.include(`cannot load ${join(cwd, 'helpers', 'open.js')}`);
  });
});

describe('a file of the command line', () => {
  it('has the type of its name, or of its field, and is read little further than a call may have', async () => {
    const input = () => createInput(Readable.from([Buffer.from('a,b\n')]), 100);
    const types = ['text/*', 'text/csv'];
    const path = fileURLToPath(new URL('../../../../../package.json', import.meta.url));
    const { type, name, bytes } = await readUpload(path, { field: 'table', types }, input());
    expect([type, name]).to.deep.equal(['application/json', 'package.json']);
    expect(bytes.length).to.be.above(100);
    expect((await readUpload('-', { field: 'table', types }, input())).type).to.equal('text/csv');
    const unnamed = await readUpload('-', { field: 'file' }, input());
    expect(unnamed.type).to.equal('application/octet-stream');
  });
});

describe('the words behind call SERVICE', () => {
  const read = (...words: string[]) => readWords(words, (name) => name === 'dryrun');

  for (const [words, values, files] of [
    ['--font_size 20 --text=a=b a.jpg --width -1', { font_size: '20', text: 'a=b', width: '-1' }, ['a.jpg']],
    ['--dryrun a.jpg', { dryrun: 'true' }, ['a.jpg']],
    ['--dryrun false', { dryrun: 'false' }, []],
    ['--dryrun=0', { dryrun: '0' }, []],
    ['-', {}, ['-']],
    ['--set text=- --set out=x', { text: '-', out: 'x' }, []],
    ['-- --width -', {}, ['--width', '-']],
  ] as const) {
    it(`are parameters and files: ${words}`, () => {
      const found = read(...words.split(' '));
      expect([Object.fromEntries(found.values), found.files]).to.deep.equal([values, files]);
    });
  }

  it('are the command’s own options where they have these names', () => {
    const own = { json: true, help: true, out: 'a', outDir: 'b' };
    expect(read('--json', '--help', '--out', 'a', '--out-dir=b')).to.include(own);
    expect(read('--text', '-').fromInput).to.deep.equal(['text']);
  });

  it('report all problems at once', () => {
    const { problems } = read('--a', '1', '--a', '2', '--b', '--c', '3', '--set', 'x', '--d');
    expect(problems.map(({ field }) => field)).to.deep.equal(['a', 'b', 'set', 'd']);
    const dash = read('-o', '--', '-o');
    expect([dash.files, dash.problems.map(({ field }) => field)]).to.deep.equal([['-o'], ['-o']]);
  });

  for (const [words, service] of [
    ['a/b --n 1 x.jpg', 'a/b'],
    ['--server c --out c --n 1 a/b', 'a/b'],
    // A boolean, and a value that is called like another helper.
    ['--dryrun a/b x.jpg', 'a/b'],
    ['--text c a/b', 'a/b'],
    ['a/b c', 'a/b'],
    ['--json --n=1 a/b', 'a/b'],
    // Unknown helpers.
    ['--n 10 a/x y', 'a/x'],
    ['--n 10', '10'],
    ['-- a/b', undefined],
  ] as const) {
    it(`name the helper ${service}: ${words}`, () => {
      const all = words.split(' ');
      expect(all[serviceAt(all, (word) => ['a/b', 'c'].includes(word), ['server'])]).to.equal(service);
    });
  }
});

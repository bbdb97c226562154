import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pino } from 'pino';
import { runLocally } from '../../../../gateway/commands/call/call-here.js';
import { runOnServer } from '../../../../gateway/commands/call/call-there.js';
import { createInput } from '../../../../gateway/commands/call/jobs.js';
import { hasServerOption } from '../../../../gateway/commands/call/words.js';
import { openLocalHelpers } from '../../../../gateway/commands/open-local.js';
import { loadConfig } from '../../../../gateway/config.js';
import type { LocalHelpers } from '../../../../gateway/local-helpers.js';
import { fixture } from '../../../fixtures.js';
import { bin, operatorToken, startChild, startTestGateway, type TestGateway } from '../../harness.js';

const picture = fileURLToPath(new URL('../../../../../plugins/media/example.jpg', import.meta.url));

/** Says what it was sent. */
const echo = `export default {
  summary: 'Echoes.',
  files: { file: { kind: 'bytes', types: ['text/csv'] } },
  input: { type: 'object', properties: {
    text: { type: 'string' }, n: { type: 'integer' }, loud: { type: 'boolean' }, out: { type: 'string' },
  } },
  handler: (input, { files: { file } }) =>
    file ? { ...input, file: Buffer.from(file.bytes).toString(), type: file.type } : input,
};`;

interface RunOptions {
  stdin?: string | Readable;
  /** Whether a person looks at both streams. */
  isTTY?: boolean;
  signal?: AbortSignal;
  key?: string | null;
  server?: string;
}

describe('call', function () {
  this.timeout(30_000);
  const folder = mkdtempSync(join(tmpdir(), 'call-'));
  const config = loadConfig({ HELPER_POOL_THREADS: '1', HELPER_MAX_TEXT_BYTES: '2000' });
  const log: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => void log.push(line) });
  let local: LocalHelpers;
  let api: TestGateway;

  before(async () => {
    const plugins = mkdtempSync(join(folder, 'plugins-'));
    writeFileSync(join(plugins, 'echo.mjs'), echo);
    const pluginDirs = [plugins, fixture('plugins/agents')];
    local = await openLocalHelpers({ ...config, pluginDirs }, pino({ level: 'silent' }));
    const env = { HELPER_PLUGINS: plugins, HELPER_OPERATOR_TOKEN: operatorToken };
    api = await startTestGateway({ HELPER_MAX_IMAGE_BYTES: '512KB', ...env });
    filesOf(['note.csv'], Buffer.from('c,d'));
  });
  after(async () => {
    await local.close();
    await api.close();
    rmSync(folder, { recursive: true });
  });

  async function run(place: 'here' | 'there', words: readonly string[], options: RunOptions = {}) {
    const { stdin = '', isTTY = false, signal = new AbortController().signal } = options;
    const { key = api.key, server = api.url } = options;
    const out: Uint8Array[] = [];
    let stderr = '';
    const stream = typeof stdin === 'string' ? Readable.from([Buffer.from(stdin)]) : stdin;
    const common = {
      input: createInput(stream, config.maxImageBytes),
      screen: {
        stdout: { write: (data: string | Uint8Array) => out.push(Buffer.from(data as string)), isTTY },
        stderr: { write: (text: string) => (stderr += text), isTTY },
      },
      signal,
    };
    const code = await (place === 'here'
      ? runLocally(words, { ...common, local, most: 3, logger })
      : runOnServer(['--server', server, ...words], { ...common, key: key ?? undefined }));
    const bytes = Buffer.concat(out);
    return { code, bytes, stdout: bytes.toString(), stderr };
  }

  /** Copies of the picture, or of other bytes, in the order of their names. */
  const filesOf = (names: string[], bytes = readFileSync(picture)) =>
    names.map((name) => {
      writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    });
  const linesOf = (stdout: string) => (stdout.match(/.+/g) ?? []).map((line) => JSON.parse(line));

  for (const [place, what] of [
    ['here', 'in this process'],
    ['there', 'on a gateway'],
  ] as const) {
    describe(what, () => {
      const call = (words: readonly string[], options?: RunOptions) => run(place, words, options);

      it('prints data as JSON, for people in lines, and with --json the whole envelope', async () => {
        const words = ['text/remove-stopwords', '--text', 'the cat'];
        expect(await call(words)).to.include({ code: 0, stdout: '{"text":" cat"}\n', stderr: '' });
        expect((await call(words, { isTTY: true })).stdout).to.equal('{\n  "text": " cat"\n}\n');
        const { stdout } = await call([...words, '--json']);
        expect(JSON.parse(stdout)).to.deep.include({ ok: true, data: { text: ' cat' } });
      });

      it('reports every problem, for people in a line each', async () => {
        const words = ['media/add-border', '--width', 'abc', '--widht', '3', picture];
        const { code, stderr } = await call(words);
        expect([code, stderr.trimEnd().split('\n').length]).to.deep.equal([1, 2]);
        expect(stderr)
          .to.match(/^Error: width must be a whole number/)
          .and.to.contain('did you mean "width"?');
        const { details } = JSON.parse((await call([...words, '--json'])).stdout).error;
        expect(details.map(({ field }: { field: string }) => field).sort()).to.deep.equal(['widht', 'width']);
      });

      for (const [words, answer] of [
        ['echo --text=a=b --n -1', { text: 'a=b', n: -1 }],
        ['--n 10 echo --loud', { n: 10, loud: true }],
        ['--loud echo --n 10', { n: 10, loud: true }],
        ['echo --loud false --text a', { text: 'a', loud: false }],
        ['--loud=0 echo', { loud: false }],
        ['--text text/remove-stopwords echo', { text: 'text/remove-stopwords' }],
        ['echo --set text=- --set out=x', { text: '-', out: 'x' }],
        ['echo --text -', { text: 'a,b' }],
        ['echo -', { file: 'a,b', type: 'text/csv' }],
        [`echo --n 1 -- ${folder}/note.csv`, { n: 1, file: 'c,d', type: 'text/csv' }],
      ] as const) {
        it(`reads the words ${words.replaceAll(folder, '')}`, async () => {
          const { code, stdout, stderr } = await call(words.split(' '), { stdin: 'a,b' });
          expect([code, stderr, JSON.parse(stdout)]).to.deep.equal([0, '', answer]);
        });
      }

      for (const [words, ...problems] of [
        ['echo --n 1 --n 2 --text --set x', 'n must be given once', 'text needs a value', 'set must be NAME'],
        ['echo -o', '-o is no option'],
        ['echo -- --text', 'there is no file --text'],
        ['echo - --text -', 'standard input, which text has been read from already'],
        ['text/remove-stopwords the', 'file is not taken by this helper; a value', 'but here is "the"'],
        [`media/add-border ${picture} ${picture} --out x`, 'give a folder with --out-dir'],
        [`media/add-border ${picture} --out ${folder}/none/x`, `there is no folder ${folder}/none\n`],
      ] as const) {
        it(`refuses the words ${words.replaceAll(folder, '')}`, async () => {
          const { code, stdout, stderr } = await call(words.split(' '), { stdin: 'x' });
          expect([code, stdout]).to.deep.equal([1, '']);
          for (const problem of problems) expect(stderr).to.include(problem);
        });
      }

      it('writes a picture to standard output, to a file, and to no terminal', async () => {
        const words = ['media/add-border', '--width', '9', picture];
        const png = Buffer.from('\x89PNG', 'latin1');
        for (const more of [[], ['--out', '-']])
          expect((await call([...words, ...more])).bytes.subarray(0, 4)).to.deep.equal(png);
        const out = join(folder, 'one.png');
        expect(await call([...words, '--out', out], { isTTY: true })).to.include({ code: 0, stdout: '' });
        expect(readFileSync(out).subarray(0, 4)).to.deep.equal(png);
        const shown = await call(words, { isTTY: true });
        expect([shown.code, shown.stdout]).to.deep.equal([1, '']);
        expect(shown.stderr).to.contain('--out FILE');
      });

      it('works on many files, and one that is bad costs the others nothing', async () => {
        const [bad = ''] = filesOf(['bad.jpg'], Buffer.from('no picture'));
        const [none, into] = [join(folder, 'none.jpg'), join(folder, `out-${place}`)];
        const words = ['media/add-border', bad, '--format', 'jpg', picture, none, picture, '--out-dir', into];
        const { code, stdout } = await call(words);
        expect(code).to.equal(1);
        const lines = linesOf(stdout);
        expect(lines.map(({ ok }) => ok).sort()).to.deep.equal([false, false, true, true]);
        const errorOf = (path: string) => lines.find(({ file }) => file === path).error;
        expect(errorOf(bad).code).to.equal('bad_image');
        expect(errorOf(none).details[0].problem).to.include('there is no file');
        expect(readdirSync(into).sort()).to.deep.equal(['example-2.jpg', 'example.jpg']);
        const watched = await call(words, { isTTY: true });
        expect([watched.code, watched.stdout]).to.deep.equal([1, '']);
        expect(watched.stderr).to.match(/4 of 4 files, 2 failed, [\d.]+ a second\n$/);
      });

      it('makes no call whose result would replace a source', async () => {
        const at = mkdtempSync(join(folder, 'own-'));
        const own = join(at, 'own.png');
        expect((await call(['media/add-border', picture, '--out', own])).code).to.equal(0);
        const before = readFileSync(own);
        for (const [key, ...words] of [
          ['hg_none', 'media/add-border', own, '--out-dir', at],
          // Its format is known only with the answer.
          [api.key, 'media/convert', own, '--format', 'same', '--out-dir', at],
          ['hg_none', 'media/add-watermark', picture, '--mark', own, '--out', own],
        ] as const) {
          const { code, stdout, stderr } = await call(words, { key });
          expect([words, code, before.equals(readFileSync(own))]).to.deep.equal([words, 1, true]);
          const refusal = /out(-dir)? must be another (file|folder): the result of \S+ would replace/;
          expect(stdout + stderr).to.match(refusal);
        }
      });

      it('ends with 2 where there is no such helper, and names the nearest', async () => {
        for (const words of ['media/add-bordr', '--n 10 media/add-bordr', '', '-- echo', 'jobs', 'healthz']) {
          const { code, stdout, stderr } = await call(words.split(' ').filter(Boolean));
          expect([words, code, stdout]).to.deep.equal([words, 2, '']);
          if (words.includes('media')) expect(stderr).to.contain('did you mean "media/add-border"?');
        }
        const { code, stdout } = await call(['x', '--json']);
        expect([code, JSON.parse(stdout).error.code]).to.deep.equal([2, 'not_found']);
      });

      it('lists the helpers, and explains each', async () => {
        const list = (await call(['--help'])).stdout;
        expect(list)
          .to.match(/^ {2}echo +Echoes\.$/m)
          .and.include('media/add-border')
          .and.not.match(/^ {2}(jobs|healthz)/m);
        const { code, stdout } = await call(['--help', 'media/add-watermark']);
        expect(code).to.equal(0);
        const { properties = [] } = local.registry.get('media/add-watermark')?.parameters ?? {};
        for (const { name } of properties) expect(stdout).to.contain(`--${name} `);
        // With the files that an example needs.
        const example = '--scale 0.25 --opacity 0.8 --file FILE --mark FILE';
        expect(stdout).to.include(place === 'here' ? example : '--mark FILE');
      });
    });
  }

  it('does not replace the file that standard input is read from', async () => {
    const [own = ''] = filesOf(['read.jpg']);
    const stdin = await open(own);
    const child = startChild(process.execPath, [bin, 'call', 'media/convert', '-', '--out', own], {
      stdio: [stdin.fd, 'pipe', 'pipe'],
    });
    expect(await child.ended).to.equal(1);
    await stdin.close();
    expect(child.stderr()).to.include('out must be another file: the result of standard input');
    expect(readFileSync(own).equals(readFileSync(picture))).to.equal(true);
  });

  it('has the bounds of HTTP, and reads no more than any call may bring', async () => {
    function* endless() {
      for (;;) yield Buffer.alloc(1_000_000);
    }
    for (const [words, stdin] of [
      [['text/remove-stopwords', '--text', 'x'.repeat(3000)], ''],
      [['text/remove-stopwords', '--text', '-'], Readable.from(endless())],
      [['media/add-border', '-'], Readable.from(endless())],
    ] as const)
      expect((await run('here', words, { stdin })).stderr).to.contain('too_large');
  });

  it('logs the reason of a fault, which the answer does not hold', async () => {
    const { code, stderr } = await run('here', ['broken']);
    const words = 'Error: The helper failed. This is a fault here, not in your request. (internal)\n';
    expect([code, stderr]).to.deep.equal([1, words]);
    expect(JSON.parse(log.join('')).err.message).to.equal('secret reason');
  });

  it('begins no file once it is interrupted', async () => {
    const words = ['media/add-border', picture, picture, '--out-dir', join(folder, 'interrupted')];
    expect(await run('here', words, { signal: AbortSignal.abort() })).to.include({ code: 130, stdout: '' });
    expect(readdirSync(folder)).not.to.include('interrupted');
  });

  it('finds helpers in ./helpers where no folder is named, as dev does', async () => {
    const cwd = mkdtempSync(join(folder, 'cwd-'));
    mkdirSync(join(cwd, 'helpers', 'text'), { recursive: true });
    writeFileSync(join(cwd, 'helpers', 'text', 'echo.mjs'), echo);
    const { HELPER_PLUGINS: _, ...env } = process.env;
    const call = async (...words: string[]) => {
      const child = startChild(process.execPath, [bin, 'call', ...words], { cwd, env });
      return { code: await child.ended, stdout: child.stdout(), stderr: child.stderr() };
    };
    // Any other project's folder of that name, which is not even imported for a helper of the gateway.
    writeFileSync(join(cwd, 'helpers', 'open.js'), "console.error('ran'); export const open = 1;");
    const own = await call('text/remove-stopwords', '--text', 'the cat');
    expect(own).to.include({ code: 0, stderr: '' });
    const other = await call('text/echo', '--text', 'hey');
    expect(other).to.include({ code: 0, stdout: '{"text":"hey"}\n' });
    expect(other.stderr).to.match(new RegExp(`^cannot load ${cwd}/helpers/open.js\n {4}\\S`, 'm'));
  });

  /** Starts a server that is no gateway, or a faulty one, runs words against it and ends it. */
  async function runAt(listener: RequestListener, words: string[], options: RunOptions = {}) {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      return await run('there', words, { ...options, server: `http://127.0.0.1:${port}` });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  it('goes to a gateway where --server is an option, and no value', () => {
    for (const words of ['text/x --server http://h', '--server=http://h'])
      expect(hasServerOption(words.split(' ')), words).to.equal(true);
    for (const words of ['text/x --set --server=1', 'text/x -- --server'])
      expect(hasServerOption(words.split(' ')), words).to.equal(false);
  });

  it('sends texts as they are, beside files too', async () => {
    const text = 'a\nb\r\nc\rd';
    const [file = ''] = filesOf(['note"%\r\n.csv'], Buffer.from('x\ny'));
    const answer = { text, file: 'x\ny', type: 'text/csv' };
    const words = ['echo', '--text', text];
    expect(JSON.parse((await run('there', words)).stdout)).to.deep.equal({ text });
    expect(JSON.parse((await run('there', [...words, file])).stdout)).to.deep.equal(answer);
    const into = join(folder, 'echoed');
    await run('there', [...words, file, file, '--out-dir', into]);
    const echoed = readdirSync(into).map((name) => JSON.parse(readFileSync(join(into, name), 'utf8')));
    expect(echoed).to.deep.equal([answer, answer]);
  });

  it('sends a file that is for all once, and lets one that is too large cost no other', async () => {
    const into = join(folder, 'marked');
    const files = filesOf(['l0.jpg', 'l1.jpg', 'l2.jpg', 'l3.jpg', 'l4.jpg']);
    writeFileSync(files[3] as string, Buffer.alloc(512 * 1024 + 1));
    const words = ['media/add-watermark', '--mark', picture, '--format', 'jpg', ...files, '--out-dir', into];
    const { code, stdout, stderr } = await run('there', words);
    expect([code, stderr]).to.deep.equal([1, '']);
    const failed = linesOf(stdout).flatMap(({ ok, file, error }) => (ok ? [] : [[file, error.code]]));
    expect(failed).to.deep.equal([[files[3], 'too_large']]);
    expect(readdirSync(into).sort()).to.deep.equal(['l0.jpg', 'l1.jpg', 'l2.jpg', 'l4.jpg']);
  });

  it('halves a batch that a proxy refuses as too large', async () => {
    let posts = 0;
    const proxy: RequestListener = (request, response) => {
      if (request.url === '/openapi.json') return response.writeHead(404).end();
      posts += 1;
      return request.resume().on('end', () => response.writeHead(413).end('<html>413</html>'));
    };
    const { code, stdout } = await runAt(proxy, ['a/b', picture, picture]);
    expect([code, posts, stdout.match(/"too_large"/g)?.length]).to.deep.equal([1, 3, 2]);
  });

  it('cancels at an interrupt the job that was being made, and follows no redirect with the key', async () => {
    const stopping = new AbortController();
    const seen: string[] = [];
    const gateway: RequestListener = (request, response) => {
      seen.push(`${request.method} ${request.url}`);
      if (request.url === '/openapi.json') response.writeHead(404).end();
      else if (request.method === 'DELETE') response.writeHead(307, { location: '/elsewhere' }).end();
      else
        request.resume().on('end', () => {
          stopping.abort();
          setImmediate(() => response.end('{"ok":true,"data":{"id":"job_1"},"meta":{}}'));
        });
    };
    const words = ['a/b', picture, picture, '--out-dir', folder];
    const ran = await runAt(gateway, words, { signal: stopping.signal });
    expect(seen).to.deep.equal(['GET /openapi.json', 'POST /jobs', 'DELETE /jobs/job_1']);
    expect(ran).to.include({ code: 130, stdout: '', stderr: '' });
  });

  it('lets nothing that a gateway says control the terminal', async () => {
    const evil = 'a\u001b[2J\u001b]0;title\u0007b\u009b31mc\u202ed\r\u007f';
    const get = {
      summary: evil,
      parameters: [{ name: `p${evil}`, in: 'query', description: evil }],
      responses: { 200: { content: { '*/*': {} } } },
    };
    const document = JSON.stringify({ paths: { '/x/y': { get, post: get }, [`/x/${evil}`]: { get } } });
    const errorOf = (code: string, more = {}) =>
      JSON.stringify({ ok: false, error: { code, message: evil, ...more }, meta: {} });
    const json = 'application/json';
    const answers: [status: number, type: string, body: string][] = [
      [200, json, JSON.stringify({ ok: true, data: { [evil]: evil }, meta: {} })],
      [400, json, errorOf('invalid_input', { details: [{ field: evil, problem: evil }] })],
      [500, json, errorOf('internal')],
      [200, 'text/plain', evil],
      [200, 'image/\u009bx', evil],
    ];
    const seen: string[] = [];
    const runWith = async ([status, type, body] = answers[0] as (typeof answers)[0], ...words: string[]) => {
      const gateway: RequestListener = (request, response) => {
        request.resume();
        if (request.url === '/openapi.json') response.setHeader('content-type', json).end(document);
        else response.writeHead(status, { 'content-type': type }).end(body);
      };
      const { stdout, stderr } = await runAt(gateway, words, { isTTY: true });
      expect(stdout + stderr)
        .to.match(/\S/)
        .and.not.match(/[^\P{Cc}\n]|[\u202a-\u202e]/u);
      seen.push(stdout);
    };
    const [file = ''] = filesOf([`f${evil}.csv`], Buffer.from('x'));
    const unknown = `x/${evil}z`;
    for (const words of [['--help'], ['x/y', '--help'], [unknown], [unknown, '--json'], ['x/y', file]])
      await runWith(undefined, ...words);
    await runWith(undefined, 'x/y', '--out', join(folder, `o${evil}`));
    for (const answer of answers) for (const more of [[], ['--json']]) await runWith(answer, 'x/y', ...more);
    const shown = seen.find((text) => text.startsWith('{\n')) ?? '';
    expect(JSON.parse(shown)[evil]).to.equal(evil);
  });

  it('reports once what holds for all files, and makes no folder', async () => {
    const [mark = ''] = filesOf(['mark.jpg'], Buffer.alloc(512 * 1024 + 1));
    const into = join(folder, 'not-made');
    for (const [code, key, ...words] of [
      ['key_missing', null, 'media/add-border'],
      ['too_large', api.key, 'media/add-watermark', '--mark', mark],
    ] as const) {
      const all = [...words, picture, picture, '--out-dir', into];
      const { code: exit, stdout, stderr } = await run('there', all, { key });
      expect([exit, stdout, stderr.match(new RegExp(code, 'g'))?.length]).to.deep.equal([1, '', 1]);
    }
    expect(readdirSync(folder)).not.to.include('not-made');
  });

  it('says how to give a key, and which address is no gateway', async () => {
    for (const [options, words] of [
      [{ key: null }, 'set HELPER_KEY, or give it as --key KEY'],
      [{ server: 'ftp://x' }, 'server must be'],
      [{ server: 'http://127.0.0.1:9' }, 'No gateway can be reached'],
    ] as const)
      expect((await run('there', ['echo', '--text', 'a'], options)).stderr).to.include(words);
  });

  it('reports a used-up quota at once, and does not wait for the next month', async () => {
    await api.manage('/api/tenants', { name: 'small' });
    await api.manage('/api/tenants/small', { monthly_quota: 1 }, 'PATCH');
    const { key } = await api.manage('/api/tenants/small/keys');
    expect((await run('there', ['echo', '--text', 'a'], { key })).code).to.equal(0);
    const { code, stderr } = await run('there', ['media/add-border', picture, picture], { key });
    expect([code, stderr.match(/quota_exceeded/g)?.length]).to.deep.equal([1, 1]);
  });
});

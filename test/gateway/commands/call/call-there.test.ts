import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { runOnServer } from '../../../../gateway/commands/call/call-there.js';
import { createInput } from '../../../../gateway/commands/call/jobs.js';
import { hasServerOption } from '../../../../gateway/commands/call/words.js';
import { operatorToken, startTestGateway, type TestGateway } from '../../harness.js';

const picture = fileURLToPath(new URL('../../../../../plugins/media/example.jpg', import.meta.url));

/** Says what it was sent. */
const noted = `export default {
  summary: 'Notes.',
  files: { file: { kind: 'bytes' } },
  input: { type: 'object', properties: { text: { type: 'string' }, n: { type: 'integer' }, loud: { type: 'boolean' } } },
  handler: ({ text, n, loud }, { files }) => ({ text, n, loud, file: files.file && Buffer.from(files.file.bytes).toString() }),
};`;

describe('call --server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'call-server-'));
  let api: TestGateway;

  before(async () => {
    const plugins = join(folder, 'plugins');
    mkdirSync(plugins);
    writeFileSync(join(plugins, 'noted.mjs'), noted);
    api = await startTestGateway({
      HELPER_RATE: '0',
      HELPER_MAX_IMAGE_BYTES: '512KB',
      HELPER_PLUGINS: plugins,
      HELPER_OPERATOR_TOKEN: operatorToken,
    });
  });
  after(async () => {
    await api.close();
    rmSync(folder, { recursive: true });
  });

  async function run(
    words: string[],
    {
      key = api.key as string | null,
      stdin = '',
      server = api.url,
      isTTY = false,
      signal = new AbortController().signal,
    } = {},
  ) {
    const out: Uint8Array[] = [];
    let stderr = '';
    const code = await runOnServer(['--server', server, ...words], {
      key: key ?? undefined,
      input: createInput(Readable.from([Buffer.from(stdin)]), 1e6),
      screen: {
        stdout: { write: (data) => out.push(Buffer.from(data as string)), isTTY },
        stderr: { write: (text) => (stderr += text) },
      },
      signal,
    });
    const bytes = Buffer.concat(out);
    return { code, bytes, stdout: bytes.toString(), stderr };
  }

  /** Starts a server that is no gateway, or a faulty one, runs words against it and ends it. */
  async function runAt(
    listener: RequestListener,
    words: string[],
    options: Parameters<typeof run>[1] = {},
  ): ReturnType<typeof run> {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      return await run(words, { ...options, server: `http://127.0.0.1:${port}` });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const linesOf = (stdout: string) =>
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('is meant where --server is an option, and no value', () => {
    expect(hasServerOption(['text/x', '--server', 'http://h'])).to.equal(true);
    expect(hasServerOption(['--server=http://h'])).to.equal(true);
    expect(hasServerOption(['text/x', '--set', '--server=1'])).to.equal(false);
    expect(hasServerOption(['text/x', '--', '--server'])).to.equal(false);
  });

  it('answers as a call here does: data, bytes, errors, standard input', async () => {
    const stopwords = 'text/remove-stopwords';
    const data = { code: 0, stdout: '{"text":" cat"}\n' };
    expect(await run([stopwords, '--text', 'the cat'])).to.include(data);
    expect(await run([stopwords, '--text', '-'], { stdin: 'the cat' })).to.include(data);
    const diff = await run(['text/diff-two-strings', '--a', '', '--b', 'x', '--patch', '--json']);
    expect(JSON.parse(diff.stdout).data.diff).to.match(/^--- /);
    const { code, stderr } = await run(['media/add-border', '--width', 'abc', '--widht', '3']);
    expect(code).to.equal(1);
    expect(stderr).to.include('width must be').and.to.include('widht is not a parameter');
    const out = join(folder, 'one.webp');
    expect((await run(['media/add-border', '--format', 'webp', '--out', out, picture])).code).to.equal(0);
    expect(readFileSync(out).subarray(8, 12).toString()).to.equal('WEBP');
  });

  it('sends texts as they are, beside files too', async () => {
    const text = 'a\nb\r\nc\rd';
    const file = join(folder, 'note"%\r\n.txt');
    writeFileSync(file, 'x\ny');
    const one = await run(['noted', '--text', text, file]);
    expect(JSON.parse(one.stdout)).to.deep.equal({ text, file: 'x\ny' });
    expect(JSON.parse((await run(['noted', '--text', text])).stdout)).to.deep.equal({ text });
    const into = join(folder, 'noted');
    await run(['noted', '--text', text, file, file, '--out-dir', into]);
    for (const name of readdirSync(into)) {
      expect(JSON.parse(readFileSync(join(into, name), 'utf8'))).to.deep.equal({ text, file: 'x\ny' });
    }
    expect(readdirSync(into)).to.have.length(2);
  });

  it('finds the helper behind options', async () => {
    for (const words of [
      ['--n', '10', 'noted', '--loud'],
      ['--loud', 'noted', '--n', '10'],
    ])
      expect(JSON.parse((await run(words)).stdout)).to.deep.equal({ n: 10, loud: true });
    const unknown = await run(['--n', '10', 'notd']);
    expect(unknown.stderr).to.include('there is no helper "notd"; did you mean "noted"');
    for (const own of ['jobs', 'healthz']) expect((await run([own])).code).to.equal(2);
  });

  it('makes jobs of many files, each told and written by itself', async () => {
    const files = Array.from({ length: 5 }, (_, at) => {
      const file = join(folder, `p${at}.jpg`);
      writeFileSync(file, at === 3 ? 'no picture' : readFileSync(picture));
      return file;
    });
    const into = join(folder, 'bordered');
    const all = [...files, join(folder, 'none.jpg')];
    const { code, stdout } = await run(['media/add-border', '--format', 'jpg', ...all, '--out-dir', into]);
    expect(code).to.equal(1);
    const lines = linesOf(stdout);
    expect(lines).to.have.length(6);
    expect(lines.find(({ file }) => file === files[3]).error.code).to.equal('bad_image');
    expect(lines.find(({ file }) => file.endsWith('none.jpg')).error.details[0].problem).to.include(
      'there is no file',
    );
    expect(readdirSync(into).sort()).to.deep.equal(['p0.jpg', 'p1.jpg', 'p2.jpg', 'p4.jpg']);
  });

  it('sends nothing where a result would replace a source', async () => {
    const at = mkdtempSync(join(folder, 'own-'));
    const files = [join(mkdtempSync(join(at, 'in-')), 'a.png'), join(at, 'a.jpg')];
    for (const file of files) writeFileSync(file, readFileSync(picture));
    const words = ['media/convert', ...files, '--format', 'jpg', '--out-dir', at];
    const { code, stdout, stderr } = await run(words, { key: 'hg_none' });
    expect([code, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.include(`the result of ${files[0]} would replace ${files[1]}`);
    const late = await run(['media/convert', ...files, '--format', 'same', '--out-dir', at]);
    expect(late.stdout.match(/"field":"out-dir"/g)).to.have.length(2);
    for (const file of files) expect(readFileSync(file).equals(readFileSync(picture))).to.equal(true);
  });

  it('sends a file that is for all once, with each job', async () => {
    const into = join(folder, 'marked');
    const files = ['m1.jpg', 'm2.jpg'].map((name) => join(folder, name));
    for (const file of files) writeFileSync(file, readFileSync(picture));
    const words = ['media/add-watermark', '--mark', picture, '--format', 'jpg', ...files, '--out-dir', into];
    expect(await run(words)).to.include({ code: 0, stderr: '' });
    expect(readdirSync(into).sort()).to.deep.equal(['m1.jpg', 'm2.jpg']);
  });

  it('lets a file that is too large for the gateway cost no other', async () => {
    const into = join(folder, 'not-too-large');
    const files = ['l0.jpg', 'l1.jpg', 'l2.jpg', 'l3.jpg', 'l4.jpg'].map((name) => join(folder, name));
    for (const [at, file] of files.entries()) {
      writeFileSync(file, at === 3 ? Buffer.alloc(512 * 1024 + 1) : readFileSync(picture));
    }
    const { code, stdout, stderr } = await run(['media/add-border', ...files, '--out-dir', into]);
    expect([code, stderr]).to.deep.equal([1, '']);
    const failed = linesOf(stdout).filter(({ ok }) => !ok);
    expect(failed.map(({ file, error }) => [file, error.code])).to.deep.equal([[files[3], 'too_large']]);
    expect(readdirSync(into).sort()).to.deep.equal(['l0.png', 'l1.png', 'l2.png', 'l4.png']);
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

  it('says once that what goes with each file is too large', async () => {
    const mark = join(folder, 'mark.jpg');
    writeFileSync(mark, Buffer.alloc(512 * 1024 + 1));
    const files = [picture, picture];
    const { code, stdout, stderr } = await run(['media/add-watermark', '--mark', mark, ...files]);
    expect([code, stdout]).to.deep.equal([1, '']);
    expect(stderr.match(/too_large/g)).to.have.length(1);
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
    const { code, stdout, stderr } = await runAt(gateway, words, { signal: stopping.signal });
    expect(seen).to.deep.equal(['GET /openapi.json', 'POST /jobs', 'DELETE /jobs/job_1']);
    expect([code, stdout, stderr]).to.deep.equal([130, '', '']);
  });

  it('lets nothing that a gateway says control the terminal', async () => {
    const evil = 'a\u001b[2J\u001b]0;title\u0007b\u009b31mc\u202ed\r\u007f';
    const operation = {
      summary: evil,
      parameters: [{ name: `p${evil}`, in: 'query', description: evil }],
      responses: { 200: { content: { '*/*': {} } } },
    };
    const document = {
      paths: {
        '/x/y': { get: operation, post: operation },
        [`/x/${evil}`]: { get: operation, post: operation },
      },
    };
    const failed = {
      ok: false,
      error: { code: 'invalid_input', message: evil, details: [{ field: evil, problem: evil }] },
      meta: {},
    };
    const internal = { ...failed, error: { code: 'internal', message: evil } };
    const json = 'application/json';
    const answers: Record<string, [status: number, type: string, body: string]> = {
      data: [200, json, JSON.stringify({ ok: true, data: { [evil]: evil }, meta: {} })],
      failed: [400, json, JSON.stringify(failed)],
      internal: [500, json, JSON.stringify(internal)],
      text: [200, 'text/plain', evil],
      bytes: [200, 'image/\u009bx', evil],
    };
    let wanted = 'data';
    const gateway: RequestListener = (request, response) => {
      request.resume();
      const [status, type, body] =
        request.url === '/openapi.json'
          ? [200, 'application/json', JSON.stringify(document)]
          : (answers[wanted] ?? [500, '', '']);
      response.writeHead(status, { 'content-type': type }).end(body);
    };
    const file = join(folder, `f${evil}.txt`);
    writeFileSync(file, 'x');
    const ran: Awaited<ReturnType<typeof run>>[] = [];
    for (const words of [
      ['--help'],
      ['x/y', '--help'],
      [`x/${evil}z`],
      [`x/${evil}z`, '--json'],
      ['x/y', file],
      ['x/y', '--out', join(folder, `o${evil}`)],
    ])
      ran.push(await runAt(gateway, words, { isTTY: true }));
    for (wanted of Object.keys(answers))
      for (const words of [['x/y'], ['x/y', '--json']])
        ran.push(await runAt(gateway, words, { isTTY: true }));
    for (const { stdout, stderr } of ran) {
      expect(stdout + stderr).to.match(/\S/);
      expect(stdout + stderr).to.not.match(/[^\P{Cc}\n]|[\u202a-\u202e]/u);
    }
    const shown = ran.map(({ stdout }) => stdout).find((text) => text.startsWith('{\n')) ?? '';
    expect(JSON.parse(shown)[evil]).to.equal(evil);
  });

  it('tells once what holds for all, and ends with 1; with 2 where there is no such helper', async () => {
    const many = await run(['media/add-border', picture, picture, '--out-dir', join(folder, 'none')], {
      key: null,
    });
    expect(many.code).to.equal(1);
    expect(many.stderr.match(/key_missing/g)).to.have.length(1);
    expect(many.stderr).to.include('set HELPER_KEY, or give it as --key KEY');
    const one = await run(['text/remove-stopwords', '--text', 'a'], { key: null });
    expect(one.stderr).to.include('set HELPER_KEY, or give it as --key KEY');
    expect(existsSync(join(folder, 'none'))).to.equal(false);
    const unknown = await run(['media/add-boarder']);
    expect(unknown.code).to.equal(2);
    expect(unknown.stderr).to.include('did you mean "media/add-border"');
    expect((await run(['text/remove-stopwords'], { server: 'ftp://x' })).stderr).to.include('server must be');
    expect((await run(['text/remove-stopwords'], { server: 'http://127.0.0.1:9' })).stderr).to.include(
      'No gateway can be reached',
    );
  });

  it('tells at once of a quota that is used up, and does not wait for the next month', async () => {
    const operate = async (path: string, body: object, method = 'POST') => {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' };
      const init = { method, headers, body: JSON.stringify(body) };
      return (await (await fetch(`${api.gateway.connectUrl}/api/tenants${path}`, init)).json()).data;
    };
    await operate('', { name: 'small' });
    await operate('/small', { monthly_quota: 1 }, 'PATCH');
    const at = { key: (await operate('/small/keys', {})).key };
    expect((await run(['text/remove-stopwords', '--text', 'a'], at)).code).to.equal(0);
    const { code, stderr } = await run(['media/add-border', picture, picture], at);
    expect([code, stderr.match(/quota_exceeded/g)?.length]).to.deep.equal([1, 1]);
  });

  it('lists helpers, and the parameters of one', async () => {
    const list = (await run(['--help'])).stdout;
    expect(list)
      .to.include('media/add-border')
      .and.to.match(/^ {2}noted +Notes\.$/m);
    expect(list).to.not.match(/^ {2}(jobs|healthz)/m);
    const { code, stdout } = await run(['media/add-watermark', '--help']);
    expect(code).to.equal(0);
    expect(stdout).to.include('--opacity VALUE').and.to.include('--mark FILE');
  });
});

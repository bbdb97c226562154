import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { loadConfig } from '../gateway/config.js';
import { allExamples, type Command, commandsOf, type Example, masked, shapeOf } from './examples.js';
import { bin, type GatewayProcess, startGatewayProcess } from './gateway/harness.js';
import { codesIn, readText, root } from './readme.js';

const run = promisify(execFile);
const picture = join(root, 'plugins/media/example.jpg');
const operatorToken = 'operator-token-of-the-examples-0123456789';

/** Examples that cannot run here, by what they begin with, and why. */
const notRun: readonly (readonly [page: string, begins: string, why: string])[] = [
  ['README.md', 'npm ci && npm start', 'installs packages; the tests run in what it installs'],
  ['.deploy/README.md', 'docker build', 'needs Docker; test/deploy/container.long.test.ts reads the image'],
  ['.deploy/README.md', '(umask 077', 'needs Docker; test/deploy/compose.long.test.ts reads the file'],
  ['.deploy/README.md', 'kubectl create', 'needs a cluster; test/deploy/chart.long.test.ts renders it'],
  ['gateway/mcp/README.md', 'claude mcp add', 'needs the client; test/gateway/mcp speaks its protocol'],
  [
    'gateway/commands/README.md',
    '$ npx helper-gateway apply',
    'goes on from tenants; apply.test.ts beside its tests',
  ],
  ['gateway/commands/README.md', '$ npx helper-gateway doctor', 'has faults; doctor.test.ts makes them'],
  [
    'gateway/usage/README.md',
    '$ curl -s "http://127.0.0.1:8081/api/usage',
    'needs calls; records.test.ts makes them',
  ],
  ['gateway/webhooks/README.md', 'import { createServer', 'sign.test.ts beside its tests runs it'],
];

/** What is no command and no program: messages, diagrams, and programs in languages that are run by tests of their own. */
const otherLanguages = new Set(['', 'http', 'text', 'yaml', 'python', 'php', 'go', 'ruby']);

/** Whole modules of READMEs, where the text before them says that they lie. */
const modules: readonly { page: string; holds: string; files: string[] }[] = [
  { page: 'README.md', holds: 'in capitals', files: ['text/shout.ts', 'shouting/text/shout.mjs'] },
  { page: 'plugins/README.md', holds: 'Counts the words', files: ['text/count-words.mjs'] },
  { page: 'plugins/README.md', holds: 'Turns a picture', files: ['media/turn.mjs'] },
  { page: 'plugins/README.md', holds: 'import { test }', files: ['shouting/text/shout.test.mjs'] },
  { page: 'gateway/testing/README.md', holds: 'import shout', files: ['shouting/text/kit.test.mjs'] },
];

/** Parts of declarations, with the rest of one around them, and how they are called. */
interface Fragment {
  holds: string;
  id: string;
  around: string;
  fields?: Record<string, string>;
  files?: Record<string, string>;
  answers: RegExp;
}
const fragments: readonly Fragment[] = [
  {
    holds: 'logo: { kind',
    id: 'files',
    around: "input: { type: 'object', properties: {} }",
    files: { logo: picture, table: 'table.csv' },
    answers: /"width":\d+,"bytes":8/,
  },
  {
    holds: "insteadOf: 'text'",
    id: 'mark',
    around: `input: { type: 'object', properties: { text: { type: 'string' }, font_size: { type: 'integer' }, scale: { type: 'number' } } },
      handler: ({ scale }, { files }) => ({ scale, width: files.mark?.width ?? 0 })`,
    fields: { scale: '0.5' },
    files: { mark: picture },
    answers: /"scale":0.5,"width":\d+/,
  },
  {
    holds: 'TRANSLATE_API_KEY',
    id: 'translate',
    around: "input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }",
    fields: { text: 'tea' },
    answers: /"text":"thé"/,
  },
  {
    holds: 'files.logo.resize',
    id: 'logo',
    around: `source: 'image', files: { logo: { kind: 'image', required: true } },
      input: { type: 'object', properties: { margin: { type: 'integer', minimum: 0, maximum: 500, default: 10 } } }`,
    files: { file: picture, logo: picture },
    answers: /^RIFF/,
  },
];

describe('the examples of all READMEs', function () {
  this.timeout(300_000);
  const examples = allExamples();
  const folder = mkdtempSync(join(tmpdir(), 'examples-'));
  const helpers = join(folder, 'helpers');
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HELPER_DATA_DIR: join(folder, 'data'),
    HELPER_OPERATOR_TOKEN: operatorToken,
    TRANSLATE_API_KEY: 'a-key-for-tests',
  };
  let web: Server;
  let origin: string;
  let gateway: GatewayProcess;
  let key = { key: '', id: '' };

  const reasonOf = ({ page, text }: Example) =>
    notRun.find(([ownPage, begins]) => ownPage === page && text.startsWith(begins))?.[2];
  const moduleOf = ({ page, text }: Example) =>
    modules.find((each) => each.page === page && text.includes(each.holds));
  const fragmentOf = ({ page, text }: Example) =>
    page === 'plugins/README.md' ? fragments.find(({ holds }) => text.includes(holds)) : undefined;

  before(async () => {
    for (const name of ['bin', 'photos']) mkdirSync(join(folder, name));
    // As in a checkout, whose `node_modules` has the command, and with the files that a reader has.
    const npx = `#!/bin/sh\n[ "$1" = helper-gateway ] || exit 127\nshift\nexec "${process.execPath}" "${bin}" "$@"\n`;
    writeFileSync(join(folder, 'bin', 'npx'), npx, { mode: 0o755 });
    symlinkSync(join(root, 'plugins'), join(folder, 'plugins'));
    for (const name of ['photo.jpg', 'photos/1.jpg', 'photos/2.jpg']) cpSync(picture, join(folder, name));
    writeFileSync(join(folder, 'table.csv'), 'a,b\n1,2\n');
    for (const each of examples) place(each);

    web = createServer((request, response) => {
      if (request.url?.endsWith('.jpg'))
        response.writeHead(200, { 'content-type': 'image/jpeg' }).end(readFileSync(picture));
      else response.writeHead(200, { 'content-type': 'application/json' }).end('{"tea":"thé"}');
    });
    await once(web.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
    gateway = await startGatewayProcess({
      ...env,
      HELPER_PLUGINS: helpers,
      HELPER_SOURCE_ORIGINS: origin,
      HELPER_RATE: '0',
      TRANSLATE_URL: `${origin}/words`,
    });
    key = gateway.first_key as typeof key;
  });
  after(async () => {
    await gateway?.stop();
    web?.closeAllConnections();
    web?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Writes what is a plugin, or a part of one, where the gateway serves it. */
  function place(example: Example): void {
    const part = fragmentOf(example);
    const text = part
      ? `export default { summary: 'Of a README.', ${part.around}, ${example.text} };`
      : example.text;
    const files = part ? [`readme/${part.id}.mjs`] : (moduleOf(example)?.files ?? []);
    for (const name of files) {
      const [top, ...rest] = name.split('/');
      const path = top === 'shouting' ? join(folder, 'shouting', ...rest) : join(helpers, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
  }

  /** What stands for real addresses and keys, in a text of this page. */
  function actual(text: string, page: string, known: ReadonlyMap<string, string>): string {
    return text
      .replaceAll('http://127.0.0.1:8080', gateway.url)
      .replaceAll('http://127.0.0.1:8081', gateway.connect_url)
      .replaceAll('https://example.com', origin)
      .replace(/\bhg_…/g, key.key)
      .replace(/\bacme\b/g, tenantOf(page))
      .replace(/(sign .*)?\b(key_\w{12})\b/g, (all, sign, id) =>
        all.replace(id, known.get(id) ?? (sign ? key.id : id)),
      );
  }

  function tenantOf(page: string): string {
    return `acme-${[...new Set(examples.map((each) => each.page))].indexOf(page)}`;
  }

  /** Runs commands in one shell; gives what each has printed. */
  async function runAll(commands: readonly Command[], page: string, known = new Map<string, string>()) {
    const printed: string[] = [];
    // Settings of earlier lines hold for the lines that follow.
    let exported = '';
    for (const { line, output } of commands) {
      const script = `set -euo pipefail\n${exported}\n${line}`;
      if (line.startsWith('export ')) exported += `${line}\n`;
      const { stdout, stderr } = await run('bash', ['--norc', '-c', actual(script, page, known)], {
        cwd: folder,
        env: { ...env, KEY: key.key, TOKEN: operatorToken },
        timeout: 120_000,
      });
      const said = `${stderr}${stdout}`;
      // A new key's id stands for the one that the README shows.
      const ids = (text: string) => text.match(/\bkey_\w{12}\b/g) ?? [];
      for (const [at, id] of ids(output).entries()) {
        const real = ids(said)[at];
        if (real !== undefined && !known.has(id)) known.set(id, real);
      }
      printed.push(said);
    }
    return printed;
  }

  function check(said: string, output: string): void {
    const failed = /"ok":false/;
    if (!failed.test(output)) expect(said).to.not.match(failed);
    // What only a terminal is shown.
    if (output === '' || /^\d+ of \d+ files/.test(output)) return;
    if (output.startsWith('{"ok"')) {
      const [real, shown] = [JSON.parse(said.slice(said.indexOf('{'))), JSON.parse(output)];
      if (!shown.ok) expect(real.error).to.deep.equal(shown.error);
      else if (!/"usage"/.test(output)) expect(shapeOf(real)).to.deep.equal(shapeOf(shown));
      return;
    }
    expect(masked(said).trim()).to.equal(masked(output).trim());
  }

  it('are run, or stand among those that cannot be', () => {
    const walked = examples.filter(({ language }) => !otherLanguages.has(language));
    const languages = new Set(walked.map(({ language }) => language));
    expect([...languages]).to.have.members(['sh', 'console', 'ts', 'js', 'json']);
    for (const [page, begins] of notRun) {
      const found = walked.some((each) => each.page === page && each.text.startsWith(begins));
      expect(found, begins).to.equal(true);
    }
    const programs = walked.filter(({ language }) => /^[jt]s$/.test(language));
    const left = programs.filter((each) => !reasonOf(each) && !moduleOf(each) && !fragmentOf(each));
    expect(left.map(({ place: at }) => at)).to.deep.equal([]);
  });

  const runnable = examples.filter((each) => /^(?:sh|console)$/.test(each.language) && !reasonOf(each));
  for (const page of new Set(runnable.map((each) => each.page))) {
    it(`of ${page} do as they say, in their order`, async () => {
      const own = runnable.filter((each) => each.page === page);
      const makes = own.some(({ text }) => /tenants create acme|"name":"acme"/.test(text));
      const known = new Map<string, string>();
      if (!makes) await runAll([{ line: 'npx helper-gateway tenants create acme', output: '' }], page, known);
      for (const example of own) {
        if (/^(?:[A-Z_]+=\S+[ \n])+$/.test(example.text)) {
          for (const line of example.text.trimEnd().split('\n')) readSettings(line);
          continue;
        }
        const commands = commandsOf(example);
        for (const [at, said] of (await runAll(commands, page, known)).entries()) {
          check(said, actual(commands[at]?.output ?? '', page, known));
        }
      }
    });
  }

  /** A line of variables alone is right where a start would take it. */
  function readSettings(line: string): void {
    const pairs = line.split(' ').map((each) => /^([A-Z_]+)='?(.*?)'?$/.exec(each) as RegExpExecArray);
    const settings = pairs.map(([, name, value]) => [name, value === '…' ? 'secret' : value]);
    expect(() => loadConfig(Object.fromEntries(settings)), line).to.not.throw();
  }

  it('between words do as they say', async () => {
    const isWhole = (line: string) => !/(?<![$A-Z_])\b[A-Z]{3,}\b/.test(line);
    for (const page of new Set(examples.map((each) => each.page))) {
      const lines = codesIn(readText(page).replaceAll('\n', ' '))
        .filter((code) => /^(?:\w+=\S+ )?(?:curl|npx helper-gateway call) /.test(code) && isWhole(code))
        .map((line) => ({ line, output: '' }));
      for (const said of await runAll(lines, page)) check(said, '');
    }
  });

  it('are JSON where they say so, and what the gateway answers', async () => {
    for (const [at, example] of examples.entries()) {
      if (example.language !== 'json') continue;
      const shown = JSON.parse(example.text);
      if (!('ok' in shown)) continue;
      const before = examples[at - 1] as Example;
      // The one answer whose call does not stand before it.
      const path = '/media/add-border?url=https://example.com/a.jpg&width=abc&widht=3';
      const line = example.text.includes('widht') ? `curl -s "${gateway.url}${path}&ak=$KEY"` : before.text;
      const [said = ''] = await runAll([{ line, output: '' }], example.page);
      const real = JSON.parse(said.slice(said.indexOf('{"ok"')));
      const without = ({ meta, ...rest }: typeof shown) => ({ ...rest, meta: { ...meta, request_id: '' } });
      expect(without(real), example.place).to.deep.equal(without(shown));
    }
  });

  it('are plugins that pass their test, and tests that pass', async () => {
    for (const name of [helpers, join(folder, 'shouting')]) {
      const args = [bin, 'plugins', 'test', name, '--runs', '20', '--seed', '1', '--json'];
      const options = { env: { ...env, TRANSLATE_URL: `${origin}/words` } };
      const { stdout } = await run(process.execPath, args, options).catch((error) => error);
      const { data } = JSON.parse(stdout.slice(stdout.indexOf('{"ok"')));
      expect(data.failed, JSON.stringify(data)).to.equal(0);
      expect(data.tests.passed).to.equal(true);
      expect(data.plugins.length).to.be.above(0);
    }
    const placed = modules.flatMap(({ files }) => files);
    for (const name of placed.filter((each) => !each.startsWith('shouting/')))
      expect(readFileSync(join(helpers, name), 'utf8'), name).to.not.equal('');
  });

  it('are plugins that a gateway serves', async () => {
    const get = async (path: string) => (await fetch(`${gateway.url}${path}&ak=${key.key}`)).json();
    expect((await get('/text/shout?text=hello')).data).to.deep.equal({ text: 'HELLO!' });
    expect((await get('/text/count-words?text=to+be+or+not')).data).to.deep.equal({ words: 4 });
    for (const { id, fields = {}, files = {}, answers } of fragments) {
      const form = new FormData();
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      for (const [field, name] of Object.entries(files)) {
        const path = name.startsWith('/') ? name : join(folder, name);
        form.append(field, new Blob([readFileSync(path)]), name);
      }
      const answer = await fetch(`${gateway.url}/readme/${id}?ak=${key.key}`, { method: 'POST', body: form });
      expect(Buffer.from(await answer.arrayBuffer()).toString('utf8'), id).to.match(answers);
    }
  });
});

import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { expect } from 'chai';
import { checkFolder } from '../../../gateway/commands/plugins/check.js';
import { isTouched, type PluginProblem } from '../../../gateway/plugins/discover.js';
import { withVersions } from '../../../gateway/plugins/load-helpers.js';
import { type LoadRegistryOptions, loadRegistry } from '../../../gateway/plugins/load-registry.js';
import { builtinPlugins, version as packageVersion } from '../../../gateway/plugins/paths.js';
import { PluginError } from '../../../gateway/plugins/registry.js';
import { checkDeclaration } from '../../../schemas/declaration.js';
import { compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { fixture } from '../../fixtures.js';

const idsOf = async (folders: string[], options?: LoadRegistryOptions) =>
  [...(await loadRegistry(folders, createVocabulary(), options)).keys()].sort();

async function faultsOf(...folders: string[]): Promise<PluginError> {
  const error = await loadRegistry(folders, createVocabulary()).catch((thrown) => thrown);
  expect(error).to.be.instanceOf(PluginError);
  return error;
}

const input = `input: { type: 'object', properties: {} }`;
const plain = `export default { summary: 'x', ${input}, handler: () => ({}) };`;

const folders: string[] = [];
const removeFolders = () => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));

async function write(folder: string, name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

/** A folder of these files, which is gone after the test. */
async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) await write(folder, name, text);
  return folder;
}

const problemsIn = async (files: Record<string, string>) => (await faultsOf(await folderOf(files))).message;

type Faulty = [file: string, code: string, ...reasons: (string | RegExp)[]];
const isEither = (one: string, other: string): Faulty[] =>
  [one, other].map((file) => [file, plain, `keep ${basename(one)} or ${basename(other)}`]);
const enumeration = 'const used: number = 1;\nenum Size { Small = used }';

/** Faulty plugins, each with parts of its reason, in which paths begin at their folder. */
const faulty: Faulty[] = [
  ['syntax.mjs', '\nexport default { a: 1 b };', /^cannot be loaded: SyntaxError: .* \(line 2\)$/],
  ['throws.mjs', `\nthrow new Error('no');`, /^cannot be loaded: Error: no \(.*throws\.mjs:2:7\)$/],
  [
    'cause.mjs',
    `throw new Error('no settings', { cause: new Error('no such file', { cause: 7 }) });`,
    /Error: no settings \(.*\)\ncaused by Error: no such file\ncaused by a value: 7/,
  ],
  // Without places in the gateway's own loader.
  ['import.mjs', `import './nowhere.mjs';`, /nowhere\.mjs(?![\s\S]*plugin-hooks)/],
  ['package.mjs', `import 'qrcode';`, '; install it in the folder of plugins: npm install qrcode'],
  ['gateway.mjs', `import 'helper-gateway';`, '; of the gateway there are "helper-gateway/helper"'],
  ['module.mjs', 'module.exports = {};', 'write "export default { summary, input, handler }", or rename'],
  ['exports.mjs', 'exports.handler = 1;', 'write "export default { summary, input, handler }", or rename'],
  ['dirname.mjs', '__dirname;', 'write "import.meta.dirname"'],
  ['json.mjs', `import './_data.json';`, `write "import … from '….json' with { type: 'json' }"`],
  ['name.mjs', 'defineHelper({});', `write "import { defineHelper } from 'helper-gateway/helper'"`],
  ['own-name.mjs', 'words();', /ReferenceError: words is not defined \(/],
  ['no-default.mjs', 'export const handler = () => ({});', 'has no default export'],
  [
    'text.mjs',
    'export default "x";',
    'is the string "x"; write "export default { summary, input, handler }"',
  ],
  ['function.mjs', 'export default () => {};', 'is a function; write "export default { summary, input, '],
  ['no-handler.mjs', `export default { summary: 'x', ${input} };`, 'handler'],
  ['key.mjs', `export default { sumary: 'x', ${input}, handler() {} };`, /sumary.*summary/s],
  ['image.mjs', plain.replace('summary', `runs: 'inline', source: 'image', summary`), 'runs'],
  ['reserved.mjs', plain.replace('{}', `{ ak: { type: 'string' } }`), 'the parameter ak is'],
  ['schema.mjs', plain.replace('{}', `{ n: { type: 'integr' } }`), 'input.properties.n.type'],
  [
    'example.mjs',
    plain
      .replace('{}', `{ n: { type: 'integer', minimum: 0, maximum: 5 } }`)
      .replace('summary', 'examples: [{ input: { n: 9 } }, { input: {} }, { input: { b: 1 } }], summary'),
    /example 1 is refused .*n must be an integer from 0 to 5.*\nexample 3 is refused/,
  ],
  ['Upper Case.mjs', plain, '"Upper Case" cannot be part of a route'],
  ...['docs', 'openapi.json', 'mcp/tool', 'jobs/text/x', 'healthz', 'readyz', 'img/x'].map(
    (path): Faulty => [`${path}.mjs`, plain, `the route /${path.split('/')[0]} is the gateway's own`],
  ),
  ['a.TS', '', 'rename it to a.ts'],
  ['b.MJS', '', 'rename it to b.mjs'],
  ['c.CJS', '', 'rename it to c.cjs'],
  ['d.cts', '', 'write an ES module, d.mts'],
  ['e.tsx', '', 'compile it to e.js first'],
  ['f/index.jsx', '', 'compile it to index.js first'],
  ...isEither('g.mjs', 'g.ts'),
  ...isEither('h.cjs', 'h.mjs'),
  ...isEither('i.js', 'i.mts'),
  ...isEither('j/index.mjs', 'j/index.ts'),
  ['enum.ts', enumeration, 'an enum is code and no type: write an object, ', '(enum.ts:2)'],
  ['namespace.ts', 'namespace Sizes { export const small = 1; }', 'a namespace is code and no type: '],
  [
    'property.ts',
    'class Shouter {\n  constructor(private readonly mark: string) {}\n}',
    'a parameter property is code and no type: declare the field',
    '(property.ts:2)',
  ],
  ['import-equals.ts', `import fs = require('node:fs');`, 'write import … from', '(import-equals.ts:1)'],
  ['export-equals.ts', 'export = {};', 'write export default', '(export-equals.ts:1)'],
  ['wrong.ts', 'export default {\n  a: ,\n};', 'SyntaxError: Expression expected', '(wrong.ts:2)'],
  ['decorator.ts', 'let a: 1;\n@used class Shouter {}', 'Invalid or unexpected token (line 2)'],
  ['compiled.ts', `import './_size.js';`, '"./_size.js" does not exist, but "./_size.ts" does: import that'],
  ['no-ending.mts', `import './_type';`, '"./_type" does not exist, but "./_type.mts" does: import that'],
  ['type.ts', `import { Size } from './_type.mts';`, 'if Size is a type, write "import type"'],
  // The author's lines and columns.
  [
    'typed-throws.ts',
    `const ask = (a: string): never => { throw a; };\nask('x');`,
    'it threw the string "x"',
  ],
  [
    'typed-place.ts',
    `const ask = (a: string): never => { throw new Error(a); };\nask('x');`,
    'place.ts:1:43)',
  ],
  ['nothing.ts', 'export const size: number = 1;', 'has no default export'],
  ['shared.ts', `import './_enum.ts';`, '(_enum.ts:2)'],
  ['twice.ts', `import './_twice.ts';`, '(_twice.ts:2)'],
];
const shared = {
  '_data.json': '{}',
  '_enum.ts': enumeration,
  '_size.ts': 'export const size = 1;',
  '_twice.ts': `const size: number = 1;\nconst size: string = '2';`,
  '_type.mts': 'export type Size = 1;',
};

describe('loadRegistry', function () {
  // A command waits until a plugin has had its time to load.
  this.timeout(30_000);

  afterEach(removeFolders);

  it('finds the helpers that the package brings, which are without fault', async () => {
    const ajv = createVocabulary();
    const registry = await loadRegistry([builtinPlugins], ajv);
    expect([...registry.keys()].sort()).to.deep.equal([
      ...['media/add-border', 'media/add-watermark', 'media/convert', 'media/crop'],
      ...['media/info', 'media/resize', 'media/rotate', 'pipeline'],
      ...['text/diff-two-strings', 'text/remove-stopwords'],
    ]);
    // The loader itself checks others alone.
    for (const { declaration, url } of registry.values()) {
      if (url !== '') expect(checkDeclaration((await import(url)).default)).to.deep.equal([]);
      compileParameters(ajv, declaration);
      if (declaration.output) compileOutput(ajv, declaration.output);
    }
  });

  for (const [what, from, ids] of [
    [
      'routes helpers by the path below the folder, and needs no node_modules',
      'good',
      'hello pipeline team/size team/typed text',
    ],
    [
      'loads TypeScript as it is, with what it imports from its own folder',
      'typescript/good',
      'text/shout text/titled',
    ],
  ] as const) {
    it(what, async () => {
      const folder = await folderOf({});
      await cp(fixture(`plugins/${from}`), folder, { recursive: true });
      expect(await idsOf([folder])).to.deep.equal(ids.split(' '));
    });
  }

  describe('refuses, with file, place and what to do,', () => {
    let error: PluginError;
    let problems: Map<string, string>;
    before(async () => {
      const files = Object.fromEntries(faulty.map(([file, code]) => [file, code]));
      const folder = await folderOf({ ...files, ...shared, 'good.js': plain });
      error = await faultsOf(folder);
      const own = (text: string) => text.replaceAll(`${folder}/`, '');
      problems = new Map(error.problems.map(({ file, reason }) => [own(file), own(reason)]));
    });

    it('all that are faulty at once, and nothing else', () => {
      expect([...problems.keys()]).to.have.members(faulty.map(([file]) => file));
      expect(error.message).to.match(new RegExp(`^${faulty.length} plugins cannot be served`));
    });

    for (const [file, , ...reasons] of faulty) {
      it(file, () => {
        for (const reason of reasons) {
          const says = typeof reason === 'string' ? 'include' : 'match';
          expect(problems.get(file)).to[says](reason as string & RegExp);
        }
      });
    }
  });

  it('loads CommonJS in .cjs wherever it lies, and in .js where no package says otherwise', async () => {
    const common = plain.replace('export default', 'module.exports =');
    const compiled = `Object.defineProperty(exports, '__esModule', { value: true }); ${plain.replace('export default', 'exports.default =')}`;
    const files = {
      'a.cjs': common,
      'b.js': common,
      'c.js': compiled,
      'typed/package.json': '{ "type": "module" }',
      'typed/a.cjs': common,
      'typed/index-of.cjs': compiled,
    };
    expect(await idsOf([await folderOf(files)])).to.deep.equal('a b c typed/a typed/index-of'.split(' '));
    const message = await problemsIn({ 'package.json': '{ "type": "module" }', 'a.js': common });
    expect(message).to.include('rename the file to .cjs');
  });

  it('skips links to nothing and back to where they lie, names them, and loads the rest', async () => {
    const skipped: PluginProblem[] = [];
    const folder = await folderOf({ 'text/a.mjs': plain, 'more/b.mjs': plain });
    for (const [to, from] of [
      ['nowhere.mjs', 'text/gone.mjs'],
      ['self', 'text/self'],
      ['..', 'text/loop'],
      ['..', 'up'],
      ['../text', 'more/linked'],
      ['text/a.mjs', 'linked.mjs'],
    ] as const)
      await symlink(to, join(folder, from));
    const onSkipped = (each: PluginProblem) =>
      void skipped.push({ ...each, file: each.file.slice(folder.length + 1) });
    const ids = await idsOf([folder], { onSkipped });
    expect(ids).to.deep.equal(['linked', 'more/b', 'more/linked/a', 'text/a']);
    const links = ['gone.mjs', 'self', 'loop'].flatMap((name) => [`text/${name}`, `more/linked/${name}`]);
    expect(skipped.map(({ file }) => file)).to.have.members([...links, 'up']);
    const reasons = new Map(skipped.map(({ file, reason }) => [file, reason]));
    expect(reasons.get('text/gone.mjs')).to.include('nowhere.mjs cannot be followed (it does not exist)');
    expect(reasons.get('text/self')).to.include('(it leads to itself)');
    expect(reasons.get('up')).to.include('leads back to');
  });

  it('names helpers that an index hides, and none of the modules that are its own', async () => {
    const skipped: string[] = [];
    const folder = await folderOf({
      'text/index.mjs': plain,
      'text/a.mjs': plain,
      'text/more/b.mjs': plain,
      'text/words.mjs': 'export const words = [];',
      'text/_shared/c.mjs': plain,
    });
    const ids = await idsOf([folder], {
      onSkipped({ file, reason }) {
        skipped.push(file.slice(folder.length + 1));
        expect(reason).to.include(`${join(folder, 'text/index.mjs')} makes all that lies beside it`);
      },
    });
    expect(ids).to.deep.equal(['text']);
    expect(skipped).to.have.members(['text/a.mjs', 'text/more/b.mjs']);
  });

  it('leaves alone what is ignored, a plugin’s own, or the source of what lies beside it', async () => {
    const served = ['shout.js', 'typed.mjs', 'own/index.js'].map((file) => [file, plain]);
    const others = [
      ...['_shared/lists.ts', '_shared.mjs', '.hidden.ts', 'shout.test.mjs', 'other.test.ts'],
      ...['shout.ts', 'shout.d.ts', 'shout.js.map', 'typed.mts', 'typed.d.mts'],
      ...['own/index.ts', 'own/words.cjs', 'own/words.ts', 'own/more.tsx'],
    ];
    const files = Object.fromEntries([...served, ...others.map((file) => [file, ''])]);
    expect(await idsOf([await folderOf(files)])).to.deep.equal(['own', 'shout', 'typed']);
  });

  it('stops at two plugins with one route and names both', async () => {
    const { message } = await faultsOf(builtinPlugins, fixture('plugins/bad/taken'));
    expect(message).to.match(/taken.*the route \/text\/remove-stopwords is taken by .*remove-stopwords/s);
  });

  it('stops at a folder that does not exist, and at one that is a helper itself', async () => {
    expect((await faultsOf(fixture('plugins/nowhere'))).message).to.match(/nowhere\n.*does not exist/);
    expect(await problemsIn({ 'index.js': plain, 'a.js': plain })).to.match(
      /^a plugin cannot be served:\n.*index\.js\n +has no route/,
    );
  });

  it('reports the faults of a schema beside those of the declaration, each place once', async () => {
    const input = `{ properties: { a: { type: 'strin' }, b: 3, ak: { minimun: 1 } } }`;
    const code = `export default { sumary: 'x', input: ${input}, handler: () => ({}) };`;
    const message = await problemsIn({ 'a.mjs': code });
    for (const part of ['summary must be', 'sumary is', 'input.type is', 'the parameter ak is']) {
      expect(message).to.include(`    ${part}`);
    }
    for (const place of ['a.type', 'b', 'ak.minimun']) {
      expect(message.split(`    input.properties.${place} `)).to.have.length(2);
    }
    expect(message.split('\n')).to.have.length(9);
  });

  it('says where in a file a fault is where a link leads to its folder', async () => {
    const folder = await folderOf({ 'real/a.mjs': "\nthrow new Error('no database');" });
    await symlink('real', join(folder, '_linked'));
    const { message } = await faultsOf(join(folder, '_linked'));
    expect(message).to.match(/Error: no database \(.*\/real\/a\.mjs:2:7\)/);
  });

  for (const [code, lookMs, reason] of [
    ['await new Promise(() => {});', 500, 'within 500 ms; something that it awaits at its top never comes'],
    ['for (;;);', 100, 'it did not finish within 1100 ms; does a loop at its top never end?'],
    ['process.exit(0);', undefined, 'it ended its thread, exit code 0; a plugin must not call process.exit'],
  ] as const) {
    it(`looks at plugins in a thread, and names one whose import does not end well: ${code}`, async () => {
      const checked = await checkFolder(await folderOf({ 'stuck.mjs': `${code}\n${plain}` }), { lookMs });
      expect((checked as PluginError).problems[0]?.reason).to.include(reason);
    });
  }
});

describe('versions of plugins', () => {
  afterEach(removeFolders);

  async function versionOf(folder: string, load = async () => {}): Promise<string> {
    const { versionOf } = await withVersions([builtinPlugins, folder], load);
    return versionOf({ file: join(folder, 'text/a.mjs') });
  }

  const files = { 'text/a.mjs': 'a', 'text/_shared/b.mjs': 'b', 'data/words.txt': 'c' };

  it('are the same wherever the same files lie, whenever they are loaded', async () => {
    const [one, other] = [await folderOf(files), await folderOf(files)];
    const version = await versionOf(one);
    expect(version).to.match(/^[\w-]{43}$/);
    expect([await versionOf(one), await versionOf(other)]).to.deep.equal([version, version]);
  });

  for (const name of [...Object.keys(files), 'text/new.mjs']) {
    it(`are others once ${name} is another`, async () => {
      const folder = await folderOf(files);
      const version = await versionOf(folder);
      await write(folder, name, 'changed');
      expect(await versionOf(folder)).to.not.equal(version);
    });
  }

  it('are the same however the path of their folder is written', async () => {
    const folder = await folderOf(files);
    const version = await versionOf(folder);
    const link = `${folder}-link`;
    await symlink(folder, link);
    folders.push(link);
    const near = relative(process.cwd(), folder);
    for (const written of [`${folder}/`, `${folder}//text/..//`, near, `./${near}/`, link, `${link}/`]) {
      expect(await versionOf(written), written).to.equal(version);
    }
  });

  it('follow no link back to where it lies, nor to what is installed or was', async () => {
    const folder = await folderOf(files);
    const version = await versionOf(folder);
    await write(folder, 'node_modules/x/index.js', 'x');
    await write(folder, '.git/HEAD', 'x');
    await symlink('..', join(folder, 'text/loop'));
    await symlink('nowhere', join(folder, 'text/gone'));
    expect(await versionOf(folder)).to.equal(version);
  });

  it('are others once a file has another name', async () => {
    const [one, other] = [await folderOf({ ...files, x: '1' }), await folderOf({ ...files, y: '1' })];
    expect(await versionOf(one)).to.not.equal(await versionOf(other));
  });

  it('are like no others where a file changed while they were loaded, or there are none', async () => {
    const folder = await folderOf(files);
    const load = () => write(folder, 'text/a.mjs', 'changed');
    const cut = await versionOf(folder, load);
    expect([await versionOf(folder), await versionOf(folder, load)]).to.not.include(cut);
    const gone = join(folder, 'gone');
    expect(await versionOf(gone)).to.not.equal(await versionOf(gone));
  });

  it('are found by a second look at the files’ times alone, once these are settled', async () => {
    const folder = await folderOf(files);
    const version = await versionOf(folder);
    const { now } = Date;
    Date.now = () => now() + 10_000;
    try {
      expect(await versionOf(folder)).to.equal(version);
      const load = () => write(folder, 'text/a.mjs', 'A');
      expect(await versionOf(folder, load)).to.not.equal(version);
    } finally {
      Date.now = now;
    }
  });

  it('are the package’s for its own', async () => {
    const { versionOf } = await withVersions([builtinPlugins], async () => undefined);
    expect(versionOf({ file: join(builtinPlugins, 'a.js'), shipped: true })).to.equal(packageVersion);
  });
});

describe('a change of a file touches', () => {
  const text = ['/p/text/shout.ts', '/p/text/whisper.mjs', '/p/text/titled/index.mjs'];
  const plugins = ['/p/hello.mjs', ...text, '/p/media/crop.mjs'];
  for (const [changed, touched] of [
    ['/p/text/shout.ts', ['/p/text/shout.ts']],
    ['/p/text/titled/index.mjs', ['/p/text/titled/index.mjs']],
    ['/p/text/titled/words.mjs', ['/p/text/titled/index.mjs']],
    ['/p/text/titled/deep/_more/data.json', ['/p/text/titled/index.mjs']],
    ['/p/text/_words.mjs', text],
    ['/p/text/_shared/lists/en.json', text],
    ['/p/text/words.json', text],
    ['/p/_shared/words.mjs', plugins],
    ['/p/package.json', plugins],
    ['/p/media/deep/notes.txt', []],
  ] as const) {
    it(`${touched.length} plugins: ${changed}`, () => {
      expect(plugins.filter((file) => isTouched(file, changed, plugins))).to.deep.equal(touched);
    });
  }
});

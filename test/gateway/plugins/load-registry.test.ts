import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mock } from 'node:test';
import { expect } from 'chai';
import { checkFolder } from '../../../gateway/commands/plugins/check.js';
import { loadRegistry } from '../../../gateway/plugins/load-registry.js';
import { builtinPlugins } from '../../../gateway/plugins/paths.js';
import { PluginError } from '../../../gateway/plugins/registry.js';
import { importTimeoutMs } from '../../../pool/plugin.js';
import { checkDeclaration } from '../../../schemas/declaration.js';
import { compileOutput } from '../../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../../schemas/parameters/parameters.js';
import { createVocabulary } from '../../../schemas/vocabulary.js';
import { fixture } from '../../fixtures.js';

async function problemsOf(...folders: string[]): Promise<string> {
  try {
    await loadRegistry(folders, createVocabulary());
  } catch (error) {
    expect(error).to.be.instanceOf(PluginError);
    return (error as Error).message;
  }
  throw new Error('was loaded');
}

const plain =
  "export default { summary: 'x', input: { type: 'object', properties: {} }, handler: () => ({}) };";

/** Calls `use` with a folder of these files, which is gone afterwards. */
async function withFiles<T>(files: Record<string, string>, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const problemsIn = (files: Record<string, string>) => withFiles(files, (folder) => problemsOf(folder));

describe('loadRegistry', function () {
  // A command waits until a plugin has had its time to load.
  this.timeout(30_000);

  it('finds the helpers that the package brings', async () => {
    const registry = await loadRegistry([builtinPlugins], createVocabulary());
    expect([...registry.keys()].sort()).to.deep.equal([
      'media/add-border',
      'media/add-watermark',
      'media/convert',
      'media/resize',
      'text/diff-two-strings',
      'text/remove-stopwords',
    ]);
  });

  it('is right to take the declarations and schemas of these for checked', async () => {
    const ajv = createVocabulary();
    for (const { declaration, url } of (await loadRegistry([builtinPlugins], ajv)).values()) {
      expect(checkDeclaration((await import(url)).default)).to.deep.equal([]);
      compileParameters(ajv, declaration);
      if (declaration.output) compileOutput(ajv, declaration.output);
    }
  });

  it('takes the path below the folder as the route, for files and folders with an index', async () => {
    const registry = await loadRegistry([fixture('plugins/good')], createVocabulary());
    expect([...registry.keys()].sort()).to.deep.equal(['hello', 'team/size', 'team/typed', 'text']);
  });

  it('loads plain objects and plugins that import helper-gateway/helper, without node_modules', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/good'), folder, { recursive: true });
    const registry = await loadRegistry([folder], createVocabulary());
    await rm(folder, { recursive: true });
    expect([...registry.keys()]).to.include.members(['hello', 'team/typed']);
  });

  const faults: [string, RegExp][] = [
    ['syntax', /broken\.js\n +cannot be loaded: SyntaxError: .* \(line 1\)/],
    ['throws', /cannot be loaded: Error: no database/],
    ['no-default', /has no default export/],
    ['no-handler', /handler/],
    ['unknown-key', /sumary.*summary/s],
    ['schema', /properties\/n\/type/],
    ['example', /n must be an integer from 0 to 5/],
    ['reserved', /ak/],
    ['inline-image', /runs/],
    ['route', /"Upper Case" cannot be part of a route/],
    ['no-route', /has no route/],
    ['own-path', /the gateway's own/],
    ['cause', /Error: no settings \(.*\)\n +caused by Error: no such file\n +caused by a value: 7/],
  ];
  for (const [name, reason] of faults) {
    it(`stops at a fault and says which file and why: ${name}`, async () => {
      const message = await problemsOf(fixture(`plugins/bad/${name}`));
      expect(message).to.include(fixture(`plugins/bad/${name}`));
      expect(message).to.match(reason);
    });
  }

  it("keeps the gateway's own paths free", async () => {
    const paths = ['docs', 'openapi.json', 'mcp/tool', 'jobs/text/x', 'healthz', 'readyz', 'img/x'];
    const message = await problemsIn(Object.fromEntries(paths.map((path) => [`${path}.js`, ''])));
    for (const path of paths)
      expect(message).to.include(`the route /${path.split('/')[0]} is the gateway's own`);
  });

  for (const [file, todo] of [
    ['text/shout.TS', 'rename it to shout.ts'],
    ['text/shout.MJS', 'rename it to shout.mjs'],
    ['shout.cts', 'write an ES module, shout.mts'],
    ['shout.tsx', 'compile it to shout.js first'],
    ['shout.jsx', 'compile it to shout.js first'],
    ['shout/index.tsx', 'compile it to index.js first'],
    ['shout.CJS', 'rename it to shout.cjs'],
  ] as const) {
    it(`refuses by name what looks like a plugin and cannot be loaded: ${file}`, async () => {
      const message = await problemsIn({ [file]: '', 'good.js': plain });
      expect(message)
        .to.match(/^a plugin cannot be served/)
        .and.include(`/${file}\n`)
        .and.include(todo);
    });
  }

  for (const [files, keep] of [
    [['shout.mjs', 'shout.ts'], 'shout.mjs or shout.ts'],
    [['shout.cjs', 'shout.mjs'], 'shout.cjs or shout.mjs'],
    [['shout.js', 'shout.mts'], 'shout.js or shout.mts'],
    [['shout/index.mjs', 'shout/index.ts'], 'index.mjs or index.ts'],
  ] as const) {
    it(`refuses each of several that could be one helper: ${files.join(', ')}`, async () => {
      const message = await problemsIn(Object.fromEntries(files.map((file) => [file, plain])));
      for (const file of files) expect(message).to.include(`/${file}\n`);
      expect(message.split(`keep ${keep}`)).to.have.length(3);
    });
  }

  it('loads CommonJS in .cjs wherever it lies, and in .js where no package says otherwise', async () => {
    const common = `module.exports = { summary: 'x', input: { type: 'object' }, handler: () => ({}) };`;
    const compiled = `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = { summary: 'x', input: { type: 'object' }, handler: () => ({}) };`;
    const files = {
      'a.cjs': common,
      'b.js': common,
      'c.js': compiled,
      'typed/package.json': '{ "type": "module" }',
      'typed/a.cjs': common,
      'typed/index-of.cjs': compiled,
    };
    const registry = await withFiles(files, (folder) => loadRegistry([folder], createVocabulary()));
    expect([...registry.keys()]).to.deep.equal(['a', 'b', 'c', 'typed/a', 'typed/index-of']);
    const message = await problemsIn({ 'package.json': '{ "type": "module" }', 'a.js': common });
    expect(message).to.include('rename the file to .cjs');
  });

  it('skips links to nothing and back to where they lie, names them, and loads the rest', async () => {
    const skipped: { file: string; reason: string }[] = [];
    const ids = await withFiles({ 'text/a.mjs': plain, 'more/b.mjs': plain }, async (folder) => {
      await symlink('nowhere.mjs', join(folder, 'text/gone.mjs'));
      await symlink('self', join(folder, 'text/self'));
      await symlink('..', join(folder, 'text/loop'));
      await symlink('..', join(folder, 'up'));
      await symlink('../text', join(folder, 'more/linked'));
      await symlink('text/a.mjs', join(folder, 'linked.mjs'));
      const onSkipped = (each: { file: string; reason: string }) =>
        void skipped.push({ ...each, file: each.file.slice(folder.length + 1) });
      return [...(await loadRegistry([folder], createVocabulary(), { onSkipped })).keys()];
    });
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
    const files = {
      'text/index.mjs': plain,
      'text/a.mjs': plain,
      'text/more/b.mjs': plain,
      'text/words.mjs': 'export const words = [];',
      'text/_shared/c.mjs': plain,
    };
    const registry = await withFiles(files, (folder) =>
      loadRegistry([folder], createVocabulary(), {
        onSkipped: ({ file, reason }) => {
          skipped.push(file.slice(folder.length + 1));
          expect(reason).to.include(
            `${join(folder, 'text/index.mjs')} makes all that lies beside it part of`,
          );
        },
      }),
    );
    expect([...registry.keys()]).to.deep.equal(['text']);
    expect(skipped).to.have.members(['text/a.mjs', 'text/more/b.mjs']);
  });

  it('refuses a plugin that is not compiled once, not each of its own files', async () => {
    const files = { 'shout/index.tsx': '', 'shout/words.tsx': '', 'shout/more/lists.ts': '' };
    expect(await problemsIn(files)).to.match(/^a plugin cannot be served/);
  });

  it('leaves alone what is nobody’s, a plugin’s own, or the source of what lies beside it', async () => {
    const files = {
      '_shared/lists.ts': '',
      '_shared.mjs': '',
      '.hidden.ts': '',
      'shout.js': plain,
      'shout.ts': '',
      'shout.d.ts': '',
      'shout.js.map': '',
      'shout.test.mjs': '',
      'other.test.ts': '',
      'typed.mjs': plain,
      'typed.mts': '',
      'typed.d.mts': '',
      'own/index.js': plain,
      'own/index.ts': '',
      'own/words.cjs': '',
      'own/words.ts': '',
    };
    const registry = await withFiles(files, (folder) => loadRegistry([folder], createVocabulary()));
    expect([...registry.keys()]).to.deep.equal(['own', 'shout', 'typed']);
  });

  it('stops at two plugins with one route and names both', async () => {
    const message = await problemsOf(builtinPlugins, fixture('plugins/bad/taken'));
    expect(message).to.match(/taken.*the route \/text\/remove-stopwords is taken by .*remove-stopwords/s);
  });

  it('stops at a folder that does not exist', async () => {
    expect(await problemsOf(fixture('plugins/nowhere'))).to.match(/nowhere\n.*does not exist/);
  });

  it('tells every fault at once', async () => {
    const message = await problemsOf(fixture('plugins/bad/syntax'), fixture('plugins/bad/schema'));
    expect(message)
      .to.match(/^2 plugins cannot be served/)
      .and.match(/SyntaxError/)
      .and.match(/n\/type/);
  });

  it('tells the faults of a schema beside those of the declaration, each place once', async () => {
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

  it('says where in a file a fault is, also where a link leads to its folder', async () => {
    const message = await withFiles({ 'real/a.mjs': "\nthrow new Error('no database');" }, async (folder) => {
      await symlink('real', join(folder, '_linked'));
      return problemsOf(join(folder, '_linked'));
    });
    expect(message).to.match(/Error: no database \(.*\/real\/a\.mjs:2:7\)/);
  });

  for (const [code, reason] of [
    ['export default "x";', /must be a helper declaration, but is the string "x"; write "export default /],
    [
      'export default function shout() {}',
      /but is a function; write "export default { summary, input, handler }"/,
    ],
    ['export default () => ({});', /but is a function; write "export default { summary, input, handler }"/],
    [
      `export default { summary: 'x', input: { type: 'object', properties: { a: { type: 'integer' } } },
         examples: [{ input: { a: 'x' } }, { input: {} }, { input: { b: 1 } }], handler: () => ({}) };`,
      /example 1 is refused .*\n +example 3 is refused/,
    ],
    // Without places in the gateway's own loader.
    ["import './nowhere.mjs';", /nowhere\.mjs(?![\s\S]*plugin-hooks)/],
  ] as const) {
    it(`says what is wrong with ${code.slice(0, 40)}`, async () => {
      expect(await problemsIn({ 'a.mjs': code })).to.match(reason);
    });
  }

  const checkStuck = (code: string) =>
    withFiles({ 'stuck.mjs': `${code}\nexport default {};\n` }, (folder) => checkFolder(folder));

  it('names a plugin that never finishes loading, after half a minute', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const checked = checkStuck('await new Promise(() => {});');
      let settled = false;
      void checked.finally(() => {
        settled = true;
      });
      // The thread that imports it has a clock of its own: the limit of the one that waits for it is a second longer.
      while (!settled) {
        mock.timers.tick(importTimeoutMs);
        await new Promise(setImmediate);
      }
      expect(((await checked) as PluginError).message).to.match(/stuck\.mjs.* within 31000 ms/s);
    } finally {
      mock.timers.reset();
    }
  });

  it('names a plugin that ends the process as if all were well', async () => {
    const checked = await checkStuck('process.exit(0);');
    expect(checked).to.be.instanceOf(PluginError);
    expect((checked as PluginError).message).to.include('stuck.mjs');
  });
});

describe('plugins in TypeScript', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/typescript'), folder, { recursive: true });
  });
  after(() => rm(folder, { recursive: true }));

  it('are loaded as they are, with what they import from their own folder', async () => {
    const registry = await loadRegistry([join(folder, 'good')], createVocabulary());
    expect([...registry.keys()].sort()).to.deep.equal(['text/shout', 'text/titled']);
    expect(registry.get('text/shout')?.declaration.summary).to.equal('Writes a text in capitals.');
  });

  describe('that cannot be loaded', () => {
    let problems: Map<string, string>;
    before(async () => {
      const error = await loadRegistry([join(folder, 'bad')], createVocabulary()).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(PluginError);
      problems = new Map((error as PluginError).problems.map(({ file, reason }) => [file, reason]));
    });

    const words = (file: string, line: number) => ` (${join(folder, 'bad', file)}:${line})`;

    for (const [file, line, reason] of [
      ['enum.ts', 2, 'an enum is code and no type: write an object, '],
      ['namespace.ts', 1, 'a namespace is code and no type: '],
      ['parameter-property.ts', 2, 'a parameter property is code and no type: declare the field'],
      ['import-equals.ts', 1, 'write import … from'],
      ['export-equals.ts', 1, 'write export default'],
      ['syntax.ts', 2, 'Expression expected'],
    ] as const) {
      it(`are refused with file, line and what to do: ${file}`, () => {
        expect(problems.get(join(folder, 'bad', file)))
          .to.match(/^cannot be loaded: SyntaxError: /)
          .and.include(reason)
          .and.include(words(file, line));
      });
    }

    for (const [file, reason] of [
      ['decorator.ts', 'Invalid or unexpected token (line 3)'],
      ['compiled-name.ts', '"./_size.js" does not exist, but "./_size.ts" does: import that'],
      ['no-ending.mts', '"./_other" does not exist, but "./_other.mts" does: import that'],
      ['type-as-value.ts', 'if Size is a type, write "import type"'],
      ['throws.ts', 'nobody asked (ask ('],
      ['nothing.ts', 'has no default export'],
    ] as const) {
      it(`are refused with the reason: ${file}`, () => {
        expect(problems.get(join(folder, 'bad', file))).to.include(reason);
      });
    }

    for (const [file, imported, line] of [
      ['shared-enum.ts', '_enum.ts', 2],
      ['shared-twice.ts', '_twice.ts', 2],
    ] as const) {
      it(`name the module of theirs that is to blame: ${imported}`, () => {
        expect(problems.get(join(folder, 'bad', file))).to.include(words(imported, line));
      });
    }

    it('keep every line and column where the author wrote it', () => {
      expect(problems.get(join(folder, 'bad', 'throws.ts'))).to.include('throws.ts:2:57)');
    });
  });
});

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { root } from '../../../readme.js';

const compiler = join(fileURLToPath(import.meta.resolve('typescript/package.json')), '../bin/tsc');
const options = {
  ...{ target: 'es2023', module: 'nodenext', types: [], strict: true, noEmit: true },
  ...{ allowJs: true, checkJs: true, skipLibCheck: true },
};

/** Parameters of every kind, as an author types them. */
const kinds = [
  `{ type: 'string', maxLength: 100, description: 'One of many.' }`,
  `{ type: 'integer', minimum: 0, maximum: 500, default: 20 }`,
  `{ type: 'string', choice: { png: [], jpg: ['jpeg'], webp: [] }, default: 'png' }`,
  `{ type: 'string', color: true, maxLength: 100, default: 'black' }`,
  `{ type: ['number', 'string'], fraction: true, default: 0.5 }`,
  `{ type: 'array', items: { type: 'object', properties: { k: { type: 'string' }, n: { enum: [1, 2], default: 1 } }, required: ['k'] } }`,
];
const sixty = Array.from({ length: 60 }, (_, at) => `p${at}: ${kinds[at % kinds.length]}`);
const files = {
  'misspelt.ts': `
defineHelper({
  summary: 'Has a keyword that there is not.',
  input: { type: 'object', properties: { text: { type: 'string', maxLength: 100 },
    width: { type: 'integer', minimun: 1 } }, required: ['text'] },
  handler: ({ text }) => ({ length: text.length }),
});`,
  // An editor knows as much of JavaScript as of TypeScript.
  'plain.mjs': `
const circle = /** @type {const} */ ({ type: 'object', properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] });
defineHelper({
  summary: 'Is JavaScript.',
  input: { type: 'object', properties: { unit: { enum: ['px', 'em'], default: 'px' },
    shape: { oneOf: [circle, { type: 'object', properties: { kind: { const: 'square' } }, required: ['kind'] }] } }, required: ['shape'] },
  config: { key: { env: 'SOME_KEY', required: true } },
  setup: async ({ config }) => ({ length: config.key.length }),
  handler: ({ unit, shape }, { state, signal }) => {
    // @ts-expect-error not one of the values
    if (unit === 'cm') return {};
    // @ts-expect-error only a circle has one
    if (shape.kind === 'square') return { r: shape.r };
    return { size: shape.r + state.length, aborted: signal.aborted };
  },
});`,
  'sixty.ts': `
defineHelper({
  summary: 'Has sixty parameters.',
  input: { type: 'object', properties: { ${sixty.join(',\n')} }, required: ['p0', 'p5'] },
  handler: ({ p0, p1, p2, p3, p4, p5, p59 }) =>
    ({ text: p0.trim(), sum: p1 + p4, format: p2, color: p3.slice(1), first: p5[0]?.k ?? p59?.[0]?.k }),
});`,
};

/** What the compiler says of plugins, as their authors read it. */
async function compile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'contract-'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(root, join(folder, 'node_modules/helper-gateway'));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
  for (const [name, code] of Object.entries(files)) {
    await writeFile(join(folder, name), `import { defineHelper } from 'helper-gateway/helper';${code}\n`);
  }
  const args = [compiler, '-p', folder, '--pretty', 'false', '--extendedDiagnostics'];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { cwd: folder }, (_, stdout) => resolve(stdout));
  });
  await rm(folder, { recursive: true });
  return output;
}

describe('the compiler, for an author', () => {
  let output = '';
  before(async function () {
    this.timeout(300_000);
    output = await compile();
  });

  it('points at a misspelt keyword and says what was meant', () => {
    expect(output).to.match(
      /^misspelt\.ts\(5,31\): error .*'minimun' does not exist in type 'Schema'\. Did you mean to write 'minimum'\?$/m,
    );
  });

  it('finds nothing else: a plugin in JavaScript is known as well, and so is one of sixty parameters', () => {
    expect(output.match(/^\S+\(\d+,\d+\): error/gm)).to.have.lengthOf(1);
  });

  it('has little to do, also for many parameters', () => {
    const instantiations = Number(/^Instantiations:\s+(\d+)$/m.exec(output)?.[1]);
    expect(instantiations).to.be.above(1000).and.below(100_000);
  });
});

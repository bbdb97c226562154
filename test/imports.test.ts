import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { circles, type ImportLine, importsOf, sources } from './import-graph.js';

const parts = ['gateway', 'plugins', 'pool', 'schemas', 'test'];
const all = importsOf(parts.flatMap(sources));

function inside(path: string, part: string): boolean {
  return path.startsWith(`${part}/`);
}

/** A folder of the gateway with all below it, or a file at its root. */
function moduleOf(path: string): string {
  return path.split('/').slice(0, 2).join('/');
}

describe('imports', () => {
  it('are found at all', () => {
    expect(all.length).to.be.above(100);
  });

  /** From a folder to none of these others. */
  const none = (own: string, others: readonly string[]) => (line: ImportLine) =>
    !inside(line.from, own) || !others.some((part) => inside(line.to, part));
  const rules: [string, (line: ImportLine) => boolean][] = [
    ['never point to test/ from the product', ({ from, to }) => inside(from, 'test') || !inside(to, 'test')],
    [
      'of a plugin are the public interface, its own folder and packages',
      (line) =>
        inside(line.to, dirname(line.from)) ||
        line.to === 'helper-gateway/helper' ||
        none('plugins', [...parts, 'helper-gateway'])(line),
    ],
    ['of pool/ reach neither the gateway nor the plugins', none('pool', ['gateway', 'plugins'])],
    ['of schemas/ stay in schemas/', none('schemas', ['gateway', 'plugins', 'pool', 'test'])],
    ['of the gateway never name a plugin', none('gateway', ['plugins'])],
    ['of the public interface are types alone', (line) => line.from !== 'gateway/helper.ts' || line.typeOnly],
  ];
  for (const [what, rule] of rules)
    it(what, () => {
      const offending = all.filter((line) => !rule(line)).map(({ from, to }) => `${from} imports ${to}`);
      expect(offending).to.deep.equal([]);
    });

  it('form no cycle, types included', () => {
    expect(circles(all)).to.deep.equal([]);
  });

  it('between modules of the gateway form no cycle', () => {
    const between = all
      .filter(({ from, to }) => inside(from, 'gateway') && inside(to, 'gateway'))
      // The public interface re-exports types of the plugin contract.
      .filter(({ from }) => from !== 'gateway/helper.ts')
      .map((line) => ({ ...line, from: moduleOf(line.from), to: moduleOf(line.to) }))
      .filter(({ from, to }) => from !== to);
    expect(circles(between)).to.deep.equal([]);
  });
});

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

type Locked = { name?: string; hasInstallScript?: boolean; resolved?: string; libc?: string[] };

describe('packages', () => {
  const locked = Object.entries<Locked>(read('package-lock.json').packages).filter(([place]) => place !== '');

  it('run nothing when they are installed', () => {
    expect(locked.length).to.be.above(100);
    expect(locked.filter(([, { hasInstallScript }]) => hasInstallScript)).to.deep.equal([]);
  });

  it('come from the registry of those who install them, for one C library', () => {
    expect(locked.filter(([, { resolved }]) => resolved)).to.deep.equal([]);
    // libsql's packages do not say so themselves, and npm drops it from the lock where it writes an entry anew.
    const builds = locked.filter(([place]) => /@libsql\/linux-(x64|arm64)-/.test(place));
    const libraries = builds.map(([place, { libc }]) => `${place.replace(/.*-/, '')} ${libc}`);
    expect(libraries).to.have.members(['gnu glibc', 'musl musl', 'gnu glibc', 'musl musl']);
  });

  it('report no installation to anyone', () => {
    const scarf = locked.filter(([place]) => place.endsWith('@scarf/scarf'));
    expect(scarf.map(([, { name }]) => name)).to.deep.equal(['empty-npm-package']);
    // Where this package is itself installed, its overrides do not count: swagger-ui, which asks for it, is not installed there.
    const { dependencies, devDependencies } = read('package.json');
    expect(dependencies).not.to.have.property('swagger-ui-dist');
    expect(devDependencies).to.have.property('swagger-ui-dist');
  });
});

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { circles, type ImportLine, importsOf, sources } from './import-graph.js';

const product = ['gateway', 'plugins', 'pool', 'schemas'];
const parts = [...product, 'test'];
const all = importsOf(parts.flatMap(sources));

function offending(rule: (line: ImportLine) => boolean): string[] {
  return all.filter((line) => !rule(line)).map(({ from, to }) => `${from} imports ${to}`);
}

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

  it('never point to test/ from the product', () => {
    expect(offending(({ from, to }) => inside(from, 'test') || !inside(to, 'test'))).to.deep.equal([]);
  });

  it('of a plugin are the public interface, its own folder and packages', () => {
    const rule = ({ from, to }: ImportLine) =>
      !inside(from, 'plugins') ||
      inside(to, dirname(from)) ||
      (!parts.some((part) => inside(to, part)) && !to.startsWith('helper-gateway/')) ||
      to === 'helper-gateway/helper';
    expect(offending(rule)).to.deep.equal([]);
  });

  it('of pool/ reach neither the gateway nor the plugins', () => {
    expect(
      offending(({ from, to }) => !inside(from, 'pool') || !(inside(to, 'gateway') || inside(to, 'plugins'))),
    ).to.deep.equal([]);
  });

  it('of schemas/ stay in schemas/', () => {
    expect(
      offending(
        ({ from, to }) =>
          !inside(from, 'schemas') || !parts.some((part) => part !== 'schemas' && inside(to, part)),
      ),
    ).to.deep.equal([]);
  });

  it('of the gateway never name a plugin', () => {
    expect(offending(({ from, to }) => !inside(from, 'gateway') || !inside(to, 'plugins'))).to.deep.equal([]);
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

  it('of the public interface are types alone', () => {
    expect(offending(({ from, typeOnly }) => from !== 'gateway/helper.ts' || typeOnly)).to.deep.equal([]);
  });
});

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

interface Locked {
  name?: string;
  hasInstallScript?: boolean;
  resolved?: string;
  libc?: string[];
}

describe('packages', () => {
  const locked = Object.entries<Locked>(read('package-lock.json').packages).filter(([place]) => place !== '');

  it('run nothing when they are installed', () => {
    expect(locked.length).to.be.above(100);
    expect(
      locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([place]) => place),
    ).to.deep.equal([]);
  });

  it('come from the registry of who installs them, for one C library', () => {
    const from = locked.filter(([, { resolved }]) => resolved).map(([place]) => place);
    expect(from).to.deep.equal([]);
    // libsql's packages do not say so themselves, and npm drops it from the lock where it writes an entry anew.
    const builds = locked.filter(([place]) => /@libsql\/linux-(x64|arm64)-/.test(place));
    expect(builds.map(([place, { libc }]) => [place.replace(/.*-/, ''), libc])).to.have.deep.members([
      ['gnu', ['glibc']],
      ['musl', ['musl']],
      ['gnu', ['glibc']],
      ['musl', ['musl']],
    ]);
  });

  it('tell nobody of an installation', () => {
    const scarf = locked.filter(([place]) => place.endsWith('@scarf/scarf'));
    expect(scarf.map(([, { name }]) => name)).to.deep.equal(['empty-npm-package']);
    // Where this package is itself installed, its overrides do not count: swagger-ui, which asks for it, is not installed there.
    const { dependencies, devDependencies } = read('package.json');
    expect(dependencies).not.to.have.property('swagger-ui-dist');
    expect(devDependencies).to.have.property('swagger-ui-dist');
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';

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

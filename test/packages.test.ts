import { readFileSync } from 'node:fs';
import { expect } from 'chai';

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

interface Locked {
  name?: string;
  hasInstallScript?: boolean;
}

describe('packages', () => {
  const locked = Object.entries<Locked>(read('package-lock.json').packages).filter(([place]) => place !== '');

  it('run nothing when they are installed', () => {
    expect(locked.length).to.be.above(100);
    expect(
      locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([place]) => place),
    ).to.deep.equal([]);
  });

  it('tell nobody of an installation', () => {
    const scarf = locked.filter(([place]) => place.endsWith('@scarf/scarf'));
    expect(scarf.map(([, { name }]) => name)).to.deep.equal(['empty-npm-package']);
    // Where this package is itself installed, its overrides do not count, but what it brings along does.
    const { scarfSettings, bundleDependencies } = read('package.json');
    expect([scarfSettings, bundleDependencies]).to.deep.equal([
      { enabled: false },
      ['bullmq', 'swagger-ui-dist'],
    ]);
  });
});

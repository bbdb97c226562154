import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../..', import.meta.url));
const parts = ['gateway', 'plugins', 'pool', 'schemas', 'test'];

interface ImportLine {
  from: string;
  /** Path from the root for a relative import, else the specifier. */
  to: string;
  typeOnly: boolean;
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith(join('test', 'fixtures')));
}

function importsOf(file: string): ImportLine[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /^\s*(?:import|export)\s+(type\s)?[^;'"]*?from\s+'([^']+)'|import\('([^']+)'\)/gm,
  );
  return [...found].map((match) => {
    const specifier = (match[2] ?? match[3]) as string;
    const to = specifier.startsWith('.')
      ? relative(root, resolve(root, dirname(file), specifier))
      : specifier;
    return { from: file, to, typeOnly: match[1] !== undefined };
  });
}

const all = parts.flatMap(sources).flatMap(importsOf);

function offending(rule: (line: ImportLine) => boolean): string[] {
  return all.filter((line) => !rule(line)).map(({ from, to }) => `${from} imports ${to}`);
}

function inside(path: string, part: string): boolean {
  return path.startsWith(`${part}/`);
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

  it('of the public interface are types alone', () => {
    expect(offending(({ from, typeOnly }) => from !== 'gateway/helper.ts' || typeOnly)).to.deep.equal([]);
  });
});

describe('files', () => {
  it('stay below 250 lines', () => {
    const long = parts
      .flatMap(sources)
      .map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1 }))
      .filter(({ lines }) => lines > 250);
    expect(long).to.deep.equal([]);
  });
});

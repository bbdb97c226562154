import { dirname } from 'node:path';
import { expect } from 'chai';
import { circles, entries, type ImportLine, importsOf, packagesLoadedBy, sources } from './import-graph.js';
import { roomOf, rooms } from './rooms.js';

const product = ['gateway', 'plugins', 'pool', 'schemas'];
const parts = [...product, 'test'];
const all = importsOf(parts.flatMap(sources));

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

  it('of a room reach the rooms below it alone', () => {
    const rule = ({ from, to }: ImportLine) =>
      inside(from, 'test') ||
      !product.some((part) => inside(to, part)) ||
      roomOf(from) === roomOf(to) ||
      rooms[roomOf(from)]?.includes(roomOf(to)) === true;
    expect(offending(rule)).to.deep.equal([]);
  });

  it('come to no circle, those of types included', () => {
    expect(circles(all)).to.deep.equal([]);
  });

  it('of a thread’s entry load no package that its start needs not: each reload waits for it', () => {
    expect(packagesLoadedBy('gateway/helpers/inspect-worker.ts', all)).to.deep.equal([]);
    expect(packagesLoadedBy('pool/worker.ts', all)).to.deep.equal(['piscina']);
  });

  it('of the public interface are types alone', () => {
    expect(offending(({ from, typeOnly }) => from !== 'gateway/helper.ts' || typeOnly)).to.deep.equal([]);
  });
});

describe('rooms', () => {
  const names = Object.keys(rooms);

  it('name only rooms below them', () => {
    const order = names.flatMap((room, at) =>
      (rooms[room] ?? [])
        .filter((below) => !names.slice(0, at).includes(below))
        .map((below) => `${room}: ${below}`),
    );
    expect(order).to.deep.equal([]);
  });

  it('of the gateway are those of its plan, and nothing else lies at its root', () => {
    const inHouse = names
      .filter((name) => inside(name, 'gateway'))
      .map((name) => name.slice('gateway/'.length));
    const planned = ['README.md', 'bin.cjs', ...inHouse];
    expect(entries('gateway').filter((entry) => !planned.includes(entry))).to.deep.equal([]);
  });
});

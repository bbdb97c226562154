import { expect } from 'chai';
import { checkDeclaration } from '../../schemas/declaration.js';

const good = { summary: 'Does it.', input: { type: 'object' }, handler: () => ({}) };

describe('checkDeclaration', () => {
  it('accepts the least', () => {
    expect(checkDeclaration(good)).to.deep.equal([]);
  });

  it('accepts everything', () => {
    const full = {
      ...good,
      description: 'More.',
      runs: 'pool',
      source: 'image',
      input: { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
      examples: [{ summary: 'One', input: { a: 'x' } }, { input: {} }],
      dryrun: async () => ({}),
      handler: async () => ({}),
    };
    expect(checkDeclaration(full)).to.deep.equal([]);
    expect(checkDeclaration({ ...good, dryrun: 'run' })).to.deep.equal([]);
    expect(checkDeclaration({ ...good, source: 'image' })).to.deep.equal([]);
  });

  it('refuses what is no object', () => {
    for (const [value, is] of [
      [() => 1, 'a function'],
      [undefined, 'missing'],
    ] as const) {
      const wanted = `the default export must be a helper declaration, but is ${is}`;
      const written = 'export default { summary, input, handler }';
      expect(checkDeclaration(value)).to.deep.equal([`${wanted}; write "${written}"`]);
    }
  });

  const pool = 'a picture is work for the pool';
  const reasons = {
    'files.logo must be an object, but is the string "image"; write { kind: "image" }': {
      files: { logo: 'image' },
    },
    'config.key must be an object, but is the string "A_KEY"; write { env: "A_KEY" }': {
      config: { key: 'A_KEY' },
    },
    'summary must be a sentence that says what the helper does': { summary: ' ' },
    'idempotent is for a helper where effects is true: every other may be called again': { idempotent: true },
    'cache cannot be true where effects is true: each call is made': { effects: true, cache: true },
    'dryrun must be a function where effects is true: a dry run changes nothing': {
      effects: true,
      dryrun: 'run',
    },
    'input is required: an object': { input: undefined },
    'input.type must be object, but is the string "array"': { input: { type: 'array' } },
    'handler must be a function, but is the string "x"': { handler: 'x' },
    'handlr is not part of a declaration; did you mean "handler"?': { handlr: 1 },
    'runs must be one of inline, pool, but is the string "poll"': { runs: 'poll' },
    'runs must be "pool" where source is "image"': { runs: 'inline', source: 'image' },
    [`inline cannot be used where source is "image": ${pool}`]: { source: 'image', inline: () => true },
    'inline cannot be used where runs is "inline": every call is on the main thread then': {
      runs: 'inline',
      inline: () => true,
    },
    'inline must be a function that says of an input whether its call is short, but is the boolean true': {
      inline: true,
    },
    'dryrun must be "run" or a function, but is the boolean true': { dryrun: true },
    'dryrun must be a function where source is "image": a dry run brings no picture': {
      runs: 'pool',
      source: 'image',
      dryrun: 'run',
    },
    'examples.0.input is required: an object': { examples: [{}] },
    'input.patternProperties cannot be used: every parameter is listed in input.properties': {
      input: { type: 'object', patternProperties: {} },
    },
  };

  for (const [reason, change] of Object.entries(reasons)) {
    it(`says that ${reason}`, () => {
      expect(checkDeclaration({ ...good, ...change })).to.deep.equal([reason]);
    });
  }

  it('names everything that is missing', () => {
    const names = checkDeclaration({}).map((reason) => reason.split(' ')[0]);
    expect(names).to.deep.equal(['summary', 'input', 'handler']);
  });

  it('reserves the names that the gateway reads itself', () => {
    const named = (name: string, more: object) =>
      checkDeclaration({ ...good, ...more, input: { type: 'object', properties: { [name]: {} } } });
    const image = { runs: 'pool', source: 'image' };
    for (const name of ['ak', 'dryrun']) expect(named(name, {})).to.have.length(1);
    for (const name of ['ak', 'dryrun', 'url', 'file']) expect(named(name, image)).to.have.length(1);
    for (const name of ['url', 'file']) expect(named(name, {})).to.deep.equal([]);
  });

  it('refuses names that cannot be written in a query or reach a prototype', () => {
    for (const name of ['a b', '1a', '', 'constructor', 'prototype', 'ä', 'a'.repeat(65)]) {
      const input = { type: 'object', properties: { [name]: {} } };
      expect(checkDeclaration({ ...good, input }), name).to.have.length(1);
    }
    const input = JSON.parse('{"type":"object","properties":{"__proto__":{}}}');
    expect(checkDeclaration({ ...good, input })).to.have.length(1);
  });
});

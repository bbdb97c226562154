import { expect } from 'chai';
import { checkDeclaration } from '../../schemas/declaration.js';

const good = { summary: 'Does it.', input: { type: 'object' }, handler: () => ({}) };

describe('checkDeclaration', () => {
  it('accepts the least, and everything', () => {
    const full = {
      description: 'More.',
      runs: 'pool',
      source: 'image',
      input: { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
      examples: [{ summary: 'One', input: { a: 'x' } }, { input: {} }],
      dryrun: async () => ({}),
      handler: async () => ({}),
    };
    for (const more of [{}, full, { dryrun: 'run' }, { source: 'image' }])
      expect(checkDeclaration({ ...good, ...more })).to.deep.equal([]);
  });

  it('refuses what is no object', () => {
    const wanted = 'the default export must be a helper declaration, but is missing';
    const written = 'export default { summary, input, handler }';
    expect(checkDeclaration(undefined)).to.deep.equal([`${wanted}; write "${written}"`]);
  });

  const pool = 'a picture is work for the pool';
  const onMainThread = 'every call is on the main thread then';
  const yes = 'the boolean true';
  const listed = 'cannot be used: every parameter is listed in input.properties';
  const isText = 'must be an object, but is the string';
  const effects = 'where effects is true';
  const predicate = 'a function that says of an input whether its call is short';
  const runsDry = { source: 'image', dryrun: 'run' };
  for (const [change, reason] of [
    [{ files: { logo: 'image' } }, `files.logo ${isText} "image"; write { kind: "image" }`],
    [{ config: { key: 'A_KEY' } }, `config.key ${isText} "A_KEY"; write { env: "A_KEY" }`],
    [{ summary: ' ' }, 'summary must be a sentence that says what the helper does'],
    [{ idempotent: true }, `idempotent is for a helper ${effects}: every other may be called again`],
    [{ effects: true, cache: true }, 'cache cannot be true where effects is true: each call is made'],
    [{ effects: true, dryrun: 'run' }, `dryrun must be a function ${effects}: a dry run changes nothing`],
    [{ input: undefined }, 'input is required: an object'],
    [{ input: { type: 'array' } }, 'input.type must be object, but is the string "array"'],
    [{ handler: 'x' }, 'handler must be a function, but is the string "x"'],
    [{ handlr: 1 }, 'handlr is not part of a declaration; did you mean "handler"?'],
    [{ runs: 'poll' }, 'runs must be one of inline, pool, but is the string "poll"'],
    [{ runs: 'inline', source: 'image' }, 'runs must be "pool" where source is "image"'],
    [{ source: 'image', inline: () => true }, `inline cannot be used where source is "image": ${pool}`],
    [{ runs: 'inline', inline: () => true }, `inline cannot be used where runs is "inline": ${onMainThread}`],
    [{ inline: true }, `inline must be ${predicate}, but is ${yes}`],
    [{ dryrun: true }, `dryrun must be "run" or a function, but is ${yes}`],
    [runsDry, 'dryrun must be a function where source is "image": a dry run brings no picture'],
    [{ examples: [{}] }, 'examples.0.input is required: an object'],
    [{ input: { type: 'object', patternProperties: {} } }, `input.patternProperties ${listed}`],
  ] as [object, string][]) {
    it(`says that ${reason}`, () => expect(checkDeclaration({ ...good, ...change })).to.deep.equal([reason]));
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

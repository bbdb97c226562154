import { expect } from 'chai';
import { checkDeclaration } from '../../schemas/declaration.js';

const good = { summary: 'Does it.', input: { type: 'object' }, handler: () => ({}) };

describe('checkDeclaration', () => {
  it('takes the least there can be', () => {
    expect(checkDeclaration(good)).to.deep.equal([]);
  });

  it('takes everything there is', () => {
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

  for (const [what, value, reason] of [
    [
      'no object',
      () => 1,
      'the default export must be a helper declaration, but is a function; write "export default { summary, input, handler }"',
    ],
    [
      'nothing',
      undefined,
      'the default export must be a helper declaration, but is missing; write "export default { summary, input, handler }"',
    ],
    [
      'a file by its kind alone',
      { ...good, files: { logo: 'image' } },
      'files.logo must be an object, but is the string "image"; write { kind: "image" }',
    ],
    [
      'a value by its variable alone',
      { ...good, config: { key: 'TRANSLATE_KEY' } },
      'config.key must be an object, but is the string "TRANSLATE_KEY"; write { env: "TRANSLATE_KEY" }',
    ],
    [
      'an empty summary',
      { ...good, summary: ' ' },
      'summary must be a sentence that says what the helper does',
    ],
    [
      'a claim of a helper without effects',
      { ...good, idempotent: true },
      'idempotent is for a helper where effects is true: every other may be called again',
    ],
    [
      'a cache of what has effects',
      { ...good, effects: true, cache: true },
      'cache cannot be true where effects is true: each call is made',
    ],
    [
      'a dry run that has effects',
      { ...good, effects: true, dryrun: 'run' },
      'dryrun must be a function where effects is true: a dry run changes nothing',
    ],
    ['no input', { ...good, input: undefined }, 'input is required: an object'],
    [
      'input of another type',
      { ...good, input: { type: 'array' } },
      'input.type must be object, but is the string "array"',
    ],
    [
      'a handler that is no function',
      { ...good, handler: 'x' },
      'handler must be a function, but is the string "x"',
    ],
    [
      'a misspelt key',
      { ...good, handlr: 1 },
      'handlr is not part of a declaration; did you mean "handler"?',
    ],
    [
      'a strange place to run',
      { ...good, runs: 'poll' },
      'runs must be one of inline, pool, but is the string "poll"',
    ],
    [
      'a picture on the main thread',
      { ...good, runs: 'inline', source: 'image' },
      'runs must be "pool" where source is "image"',
    ],
    [
      'a picture that may be short work',
      { ...good, source: 'image', inline: () => true },
      'inline cannot be used where source is "image": a picture is work for the pool',
    ],
    [
      'a short call of what is all on the main thread',
      { ...good, runs: 'inline', inline: () => true },
      'inline cannot be used where runs is "inline": every call is on the main thread then',
    ],
    [
      'a verdict that is no function',
      { ...good, inline: true },
      'inline must be a function that says of an input whether its call is short, but is the boolean true',
    ],
    [
      'a dry run that is neither',
      { ...good, dryrun: true },
      'dryrun must be "run" or a function, but is the boolean true',
    ],
    [
      'a dry run that runs without a picture',
      { ...good, runs: 'pool', source: 'image', dryrun: 'run' },
      'dryrun must be a function where source is "image": a dry run brings no picture',
    ],
    ['an example without input', { ...good, examples: [{}] }, 'examples.0.input is required: an object'],
    [
      'parameters without names',
      { ...good, input: { type: 'object', patternProperties: {} } },
      'input.patternProperties cannot be used: every parameter is listed in input.properties',
    ],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(checkDeclaration(value)).to.deep.equal([reason]);
    });
  }

  it('names everything that is missing', () => {
    expect(checkDeclaration({}).map((reason) => reason.split(' ')[0])).to.deep.equal([
      'summary',
      'input',
      'handler',
    ]);
  });

  it('keeps the names that the gateway reads itself', () => {
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

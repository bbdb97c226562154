import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { defineHelper, fail, invalidInput } from '../../../gateway/helper.js';
import { type CallError, call } from '../../../gateway/testing.js';

const text = { type: 'string', minLength: 1, maxLength: 20 } as const;

const shout = defineHelper({
  summary: 'Shouts.',
  input: {
    type: 'object',
    required: ['text'],
    properties: { text, marks: { type: 'integer', minimum: 0, maximum: 3, default: 1 } },
  },
  output: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  handler({ text: said, marks }) {
    if (said === 'no') throw invalidInput('text', 'must not be no');
    if (said === 'gone') throw fail('not_found', 'There is no such text.');
    if (said === 'broken') throw new TypeError('cannot shout');
    return { text: `${said.toUpperCase()}${'!'.repeat(marks)}` };
  },
});

/** What a call rejects with. */
async function errorOf(rejected: Promise<unknown>): Promise<CallError> {
  return rejected.then(
    () => {
      throw new Error('it was answered');
    },
    (error) => error,
  );
}

describe('call of the test kit', () => {
  it('gives the data, for an input with its defaults', async () => {
    expect(await call(shout, { text: 'hi' })).to.deep.equal({ text: 'HI!' });
    expect(await call(shout, { text: 'hi', marks: 0 })).to.deep.equal({ text: 'HI' });
  });

  it('rejects with the code and the details of the envelope, without coercion', async () => {
    const input = { text: '', marks: '2', txt: 'x' } as unknown as { text: string };
    const error = await errorOf(call(shout, input));
    expect(error.code).to.equal('invalid_input');
    expect(error.details?.map(({ field }) => field)).to.have.members(['text', 'marks', 'txt']);
    expect(error.message).to.include('marks must be an integer from 0 to 3, but is the string "2"');
  });

  it('rejects with what the handler says, and for a fault with what it threw', async () => {
    const refused = await errorOf(call(shout, { text: 'no' }));
    expect(refused).to.deep.include({ code: 'invalid_input' });
    expect(refused.details).to.deep.equal([{ field: 'text', problem: 'must not be no' }]);
    const broken = await errorOf(call(shout, { text: 'broken' }));
    expect(broken).to.include({ code: 'internal', message: 'cannot shout' });
    expect(broken.cause).to.be.instanceOf(TypeError);
  });

  it('judges what is no declaration at all, and refuses an option that there is not', async () => {
    for (const nothing of ['shout', undefined, null]) {
      const error = await errorOf(call(nothing as unknown as object, {}));
      expect(error.code).to.equal('invalid_declaration');
      expect(error.message).to.include('must be a helper declaration, but is');
    }
    const misspelt = { fils: {} } as unknown as { files: Record<never, never> };
    expect(await errorOf(call(shout, { text: 'hi' }, misspelt))).to.include({
      message: 'fils is no option of call; did you mean "files"?',
    });
  });

  it('names the place where an answer is not as output says', async () => {
    const wrong = { ...shout, handler: () => ({ text: 7, more: true }) };
    const error = await errorOf(call(wrong, { text: 'x' }));
    expect(error.code).to.equal('output');
    expect(error.details?.map(({ field }) => field)).to.have.members(['text', 'more']);
    const lost = { ...shout, output: undefined, handler: () => ({ text: () => 1 }) };
    expect((await errorOf(call(lost, { text: 'x' }))).code).to.equal('internal');
  });

  it('rejects for a declaration that the gateway would not start with, with every reason', async () => {
    const faulty = { ...shout, sumary: 'x', input: { type: 'object', properties: { a: { type: 'strin' } } } };
    const error = await errorOf(call(faulty, {}));
    expect(error.code).to.equal('invalid_declaration');
    expect(error.message).to.match(/sumary is not part of a declaration/);
    const schema = { ...shout, input: { type: 'object', properties: { a: { type: 'strin' } } } };
    expect((await errorOf(call(schema, {}))).message).to.include('input.properties.a.type');
  });

  it('has a dry run rehearsed, in which nothing is required', async () => {
    expect(await call(shout, {}, { dryrun: true })).to.deep.equal({ operation: 'helper' });
  });

  it('gives up with its signal, and tells the handler', async () => {
    const leaving = new AbortController();
    const waits = defineHelper({
      summary: 'Waits.',
      input: { type: 'object' },
      handler: (_, { signal }) =>
        new Promise<{ done: true }>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          leaving.abort(new Error('enough'));
        }),
    });
    expect((await errorOf(call(waits, {}, { signal: leaving.signal }))).message).to.equal('enough');
  });

  it('ends a handler that takes longer than it may', async () => {
    const never = defineHelper({
      summary: 'Never ends.',
      timeoutMs: 20,
      input: { type: 'object' },
      handler: () => new Promise<{ done: true }>(() => {}),
    });
    expect((await errorOf(call(never, {}))).code).to.equal('helper_timeout');
  });

  it('fails one that computes for longer than it may, whether it answers or throws', async () => {
    for (const end of [
      () => ({}),
      () => {
        throw new Error('too late');
      },
    ]) {
      const slow = defineHelper({
        summary: 'Computes.',
        timeoutMs: 20,
        input: { type: 'object' },
        handler: () => {
          for (const until = performance.now() + 30; performance.now() < until; );
          return end();
        },
      });
      expect((await errorOf(call(slow, {}))).code).to.equal('helper_timeout');
    }
  });

  it('adds no listener to the process', async () => {
    const count = () =>
      process.eventNames().reduce((sum, name) => sum + getEventListeners(process, String(name)).length, 0);
    const before = count();
    await call(shout, { text: 'a' });
    await errorOf(call(shout, { text: 'broken' }));
    expect(count()).to.equal(before);
  });
});

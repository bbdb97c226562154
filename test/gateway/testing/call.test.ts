import { getEventListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { defineHelper, fail, invalidInput } from '../../../gateway/helper.js';
import { type CallError, type CallOptions, call, type LoggedLine } from '../../../gateway/testing.js';

const nothing = { type: 'object' } as const;

const shout = defineHelper({
  summary: 'Shouts.',
  input: {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string', minLength: 1, maxLength: 20 },
      marks: { type: 'integer', minimum: 0, maximum: 3, default: 1 },
    },
  },
  output: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  handler({ text, marks }) {
    if (text === 'no') throw invalidInput('text', 'must not be no');
    if (text === 'gone') throw fail('not_found', 'There is no such text.');
    if (text === 'broken') throw new TypeError('cannot shout');
    return { text: `${text.toUpperCase()}${'!'.repeat(marks)}` };
  },
});

/** What a call rejects with. */
async function errorOf(helper: unknown, input: object = {}, options: CallOptions = {}): Promise<CallError> {
  return call(helper as object, input as Record<string, unknown>, options).then(
    () => expect.fail('it was answered'),
    (error) => error,
  );
}

describe('call of the test kit', () => {
  it('gives the data, for an input with its defaults', async () => {
    expect(await call(shout, { text: 'hi' })).to.deep.equal({ text: 'HI!' });
    expect(await call(shout, { text: 'hi', marks: 0 })).to.deep.equal({ text: 'HI' });
    expect(await call(shout, {}, { dryrun: true })).to.deep.equal({ operation: 'helper' });
  });

  it('rejects with the code and the details of the envelope, without coercion', async () => {
    const error = await errorOf(shout, { text: '', marks: '2', txt: 'x' });
    expect(error.code).to.equal('invalid_input');
    expect(error.details?.map(({ field }) => field)).to.have.members(['text', 'marks', 'txt']);
    expect(error.message).to.include('marks must be an integer from 0 to 3, but is the string "2"');
  });

  it('rejects with what the handler says, and for a fault with what it threw', async () => {
    const details = [{ field: 'text', problem: 'must not be no' }];
    expect(await errorOf(shout, { text: 'no' })).to.deep.include({ code: 'invalid_input', details });
    expect(await errorOf(shout, { text: 'gone' })).to.include({ code: 'not_found' });
    const broken = await errorOf(shout, { text: 'broken' });
    expect(broken).to.include({ code: 'internal', message: 'cannot shout' });
    expect(broken.cause).to.be.instanceOf(TypeError);
  });

  it('refuses what the gateway would not start with, with every reason, and an unknown option', async () => {
    const input = { type: 'object', properties: { a: { type: 'strin' } } };
    for (const [declared, reason] of [
      ['shout', 'must be a helper declaration, but is'],
      [undefined, 'must be a helper declaration, but is'],
      [null, 'must be a helper declaration, but is'],
      [{ ...shout, sumary: 'x', input }, 'sumary is not part of a declaration'],
      [{ ...shout, input }, 'input.properties.a.type'],
    ] as const) {
      const error = await errorOf(declared);
      expect(error.code).to.equal('invalid_declaration');
      expect(error.message).to.include(reason);
    }
    const misspelt = await errorOf(shout, { text: 'hi' }, { fils: {} } as CallOptions);
    expect(misspelt.message).to.equal('fils is no option of call; did you mean "files"?');
  });

  it('names the place where an answer is not as output says', async () => {
    const error = await errorOf({ ...shout, handler: () => ({ text: 7, more: true }) }, { text: 'x' });
    expect(error.code).to.equal('output');
    expect(error.details?.map(({ field }) => field)).to.have.members(['text', 'more']);
    const lost = { ...shout, output: undefined, handler: () => ({ text: () => 1 }) };
    expect((await errorOf(lost, { text: 'x' })).code).to.equal('internal');
  });

  it('ends with its signal, which the handler sees', async () => {
    const leaving = new AbortController();
    const waits = defineHelper({
      summary: 'Waits.',
      input: nothing,
      handler: (_, { signal }) =>
        new Promise<{ done: true }>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          leaving.abort(new Error('enough'));
        }),
    });
    expect((await errorOf(waits, {}, { signal: leaving.signal })).message).to.equal('enough');
  });

  it('ends a handler that takes longer than it may, whether it waits, answers late or throws', async () => {
    const compute = () => {
      for (const until = performance.now() + 30; performance.now() < until; );
    };
    for (const handler of [
      () => new Promise(() => {}),
      () => {
        compute();
        return {};
      },
      () => {
        compute();
        throw new Error('too late');
      },
    ]) {
      const slow = { summary: 'Is slow.', timeoutMs: 20, input: nothing, handler };
      expect((await errorOf(slow)).code).to.equal('helper_timeout');
    }
  });

  it('adds no listener to the process', async () => {
    const count = () =>
      process.eventNames().reduce((sum, name) => sum + getEventListeners(process, String(name)).length, 0);
    const before = count();
    await call(shout, { text: 'a' });
    await errorOf(shout, { text: 'broken' });
    expect(count()).to.equal(before);
  });
});

const title = defineHelper({
  summary: 'Fetches.',
  input: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
  config: {
    token: { env: 'TITLE_TOKEN', required: true },
    host: { env: 'TITLE_HOST', default: 'example.com' },
  },
  setup: ({ config }) => ({ made: [config.host], calls: 0 }),
  async handler({ url }, { fetch, config, state, log }) {
    state.calls += 1;
    log.info({ calls: state.calls }, 'asks %s', config.host);
    const { status, bytes } = await fetch(url, { maxBytes: 100 });
    return { status, text: new TextDecoder().decode(bytes), calls: state.calls, token: config.token };
  },
});

describe('call of the test kit gives a handler', () => {
  const config = { token: 't' };
  const input = { url: 'https://a.example/' };

  it('the configuration with its defaults, and what setup made of it once', async () => {
    const lines: LoggedLine[] = [];
    const fetch = (url: string) => ({ bytes: `from ${url}` });
    const options = { config, fetch, log: (line: LoggedLine) => lines.push(line) };
    await call(title, input, options);
    const again = { status: 200, text: 'from https://a.example/', calls: 2, token: 't' };
    expect(await call(title, input, options)).to.deep.equal(again);
    expect(lines[1]).to.include({ level: 'info', calls: 2, msg: 'asks example.com' });
    const other = await call(title, input, { ...options, config: { token: 'u' } });
    expect(other).to.include({ calls: 1, token: 'u' });
  });

  it('no configuration that is missing or unknown, and no state that setup did not make', async () => {
    const missing = await errorOf(title, input, { config: { host: 'b', tokn: 'x' } });
    expect(missing.code).to.equal('missing_config');
    expect(missing.message).to.match(
      /config\.token is required \(TITLE_TOKEN\).*config\.tokn is not declared; did you mean/,
    );
    const broken = { ...title, setup: () => Promise.reject(new Error('no such model')) };
    const error = await errorOf(broken, input, { config });
    expect(error.code).to.equal('setup_failed');
    expect(error.message).to.include('no such model');
  });

  it('what a fake fetches, or throws with a code, within its bounds; nothing without one', async () => {
    const none = await errorOf(title, input, { config });
    expect(none.code).to.equal('source_refused');
    expect(none.message).to.include(input.url).and.include('fetch: (url)');
    const late = Object.assign(new Error('late'), { code: 'source_timeout' });
    for (const [fetch, code] of [
      [() => Promise.reject(late), 'source_timeout'],
      [() => ({ bytes: new Uint8Array(101) }), 'image_too_large'],
    ] as const)
      expect((await errorOf(title, input, { config, fetch })).code).to.equal(code);
  });

  it('pictures that are opened, from bytes, a path or a url, and sends its body', async () => {
    const picture = fileURLToPath(new URL('../../../../plugins/media/example.jpg', import.meta.url));
    const border = defineHelper({
      summary: 'Draws.',
      source: 'image',
      input: nothing,
      handler: (_, { image }) => image.border({ width: image.width, color: '#ff0000' }).encode('png'),
    });
    const { body, type } = await call(border, {}, { files: { file: picture } });
    expect(type).to.equal('image/png');
    expect(Buffer.from(body).readUInt32BE(16)).to.equal(480 * 3);
    expect((await errorOf(border)).code).to.equal('invalid_input');
    const bad = await errorOf(border, {}, { files: { file: new Uint8Array([1, 2, 3]) } });
    expect(bad.code).to.equal('bad_image');
  });

  it('files as they came, which the caller keeps', async () => {
    const bytes = new TextEncoder().encode('a,b');
    const count = defineHelper({
      summary: 'Counts.',
      input: nothing,
      files: { table: { kind: 'bytes', types: ['text/csv'], required: true } },
      handler: (_, { files: { table } }) => ({ ...table, bytes: table.bytes.fill(0).length }),
    });
    const named = { type: 'text/csv', name: 'a.csv' };
    const answer = await call(count, {}, { files: { table: { bytes, ...named } } });
    expect(answer).to.deep.equal({ bytes: 3, ...named });
    const plain = { bytes: 3, type: 'text/csv' };
    expect(await call(count, {}, { files: { table: bytes } })).to.deep.equal(plain);
    expect(bytes[0]).to.equal(97);
  });

  it('files by their url, too, and sends its headers', async () => {
    const read = defineHelper({
      summary: 'Reads.',
      input: nothing,
      files: { table: { kind: 'bytes', types: ['text/csv'] } },
      handler: (_, { files: { table } }) => ({
        body: new TextDecoder().decode(table?.bytes),
        type: 'text/plain',
        headers: { 'x-name': table?.name ?? '' },
      }),
    });
    const input = { table: 'https://a.example/t.csv' };
    const fetch = () => ({ bytes: 'a,b', headers: { 'content-type': 'text/csv' } });
    const { body, ...answer } = await call(read, input, { fetch });
    expect(Buffer.from(body).toString()).to.equal('a,b');
    expect(answer).to.deep.equal({ type: 'text/plain; charset=utf-8', headers: { 'x-name': 't.csv' } });
    expect((await errorOf(read, input)).code).to.equal('source_refused');
  });
});

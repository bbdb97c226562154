import { getEventListeners } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { defineHelper, fail, invalidInput } from '../../../gateway/helper.js';
import { type CallError, call, type LoggedLine } from '../../../gateway/testing.js';

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

const picture = fileURLToPath(new URL('../../../../plugins/media/example.jpg', import.meta.url));
const nothing = { type: 'object' } as const;

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

describe('call of the test kit, and what a handler is given', () => {
  const config = { token: 't' };

  it('is the configuration with its defaults, and what setup made of it once', async () => {
    const lines: LoggedLine[] = [];
    const fetch = (url: string) => ({ bytes: `from ${url}` });
    const options = { config, fetch, log: (line: LoggedLine) => lines.push(line) };
    await call(title, { url: 'https://a.example/' }, options);
    const again = await call(title, { url: 'https://a.example/' }, options);
    expect(again).to.deep.equal({ status: 200, text: 'from https://a.example/', calls: 2, token: 't' });
    expect(lines[1]).to.include({ level: 'info', calls: 2, msg: 'asks example.com' });
    const other = await call(title, { url: 'https://a.example/' }, { ...options, config: { token: 'u' } });
    expect(other).to.include({ calls: 1, token: 'u' });
  });

  it('rejects for configuration that is missing or unknown, naming it', async () => {
    const missing = call(title, { url: 'x' }, { config: { host: 'b', tokn: 'x' } as object });
    const error = await missing.catch((thrown) => thrown);
    expect(error).to.include({ code: 'missing_config' });
    expect(error.message).to.match(
      /config\.token is required \(TITLE_TOKEN\).*config\.tokn is not declared; did you mean/,
    );
  });

  it('tells what setup threw', async () => {
    const broken = { ...title, setup: () => Promise.reject(new Error('no such model')) };
    const error = await call(broken, { url: 'x' }, { config }).catch((thrown) => thrown);
    expect(error).to.include({ code: 'setup_failed' });
    expect(error.message).to.include('no such model');
  });

  it('fetches nothing without a fake, and says how to give one', async () => {
    const error = await call(title, { url: 'https://a.example/x' }, { config }).catch((thrown) => thrown);
    expect(error.code).to.equal('source_refused');
    expect(error.message).to.include('https://a.example/x').and.include('fetch: (url)');
  });

  it('has what a fake throws with a code for the gateway’s own word, and its bounds', async () => {
    const timeout = () => {
      throw Object.assign(new Error('late'), { code: 'source_timeout' });
    };
    const late = await call(title, { url: 'https://a.example/' }, { config, fetch: timeout }).catch((e) => e);
    expect(late.code).to.equal('source_timeout');
    const large = () => ({ bytes: new Uint8Array(101) });
    const much = await call(title, { url: 'https://a.example/' }, { config, fetch: large }).catch((e) => e);
    expect(much.code).to.equal('image_too_large');
  });

  it('are pictures that are opened, from bytes, a path or a url, and answers with a body', async () => {
    const border = defineHelper({
      summary: 'Draws.',
      source: 'image',
      input: nothing,
      handler: (_, { image }) => image.border({ width: image.width, color: '#ff0000' }).encode('png'),
    });
    const { body, type } = await call(border, {}, { files: { file: picture } });
    expect(type).to.equal('image/png');
    expect(Buffer.from(body).readUInt32BE(16)).to.equal(480 * 3);
    const missing = await call(border, {}).catch((error) => error);
    expect(missing).to.deep.include({ code: 'invalid_input' });
    const bad = await call(border, {}, { files: { file: new Uint8Array([1, 2, 3]) } }).catch((e) => e);
    expect(bad.code).to.equal('bad_image');
  });

  it('are files as they came, which the caller keeps', async () => {
    const bytes = new TextEncoder().encode('a,b');
    const count = defineHelper({
      summary: 'Counts.',
      input: nothing,
      files: { table: { kind: 'bytes', types: ['text/csv'], required: true } },
      handler: (_, { files: { table } }) => ({
        size: table.bytes.fill(0).length,
        type: table.type,
        name: table.name,
      }),
    });
    const file = { bytes, type: 'text/csv', name: 'a.csv' };
    expect(await call(count, {}, { files: { table: file } })).to.deep.equal({
      size: 3,
      type: 'text/csv',
      name: 'a.csv',
    });
    expect(await call(count, {}, { files: { table: bytes } })).to.deep.equal({ size: 3, type: 'text/csv' });
    expect(bytes[0]).to.equal(97);
  });

  it('are files by their url, too, and answers with headers', async () => {
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
    const fetch = () => ({ bytes: 'a,b', headers: { 'content-type': 'text/csv' } });
    const { body, type, headers } = await call(read, { table: 'https://a.example/t.csv' }, { fetch });
    expect(Buffer.from(body).toString()).to.equal('a,b');
    expect(type).to.equal('text/plain; charset=utf-8');
    expect(headers).to.deep.equal({ 'x-name': 't.csv' });
    const unasked = await call(read, { table: 'https://a.example/t.csv' }).catch((error) => error);
    expect(unasked.code).to.equal('source_refused');
  });
});

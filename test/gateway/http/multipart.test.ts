import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../../gateway/errors.js';
import { readMultipart } from '../../../gateway/http/multipart.js';
import { createMultipartParser } from '../../../gateway/http/multipart-parser.js';
import { ownCpuMs } from '../../bench/measure.js';
import { words } from '../../examples.js';
import { heldBeyond, heldMemory } from '../../needs.js';
import { codeOf, rejection } from '../download/raw-server.js';

const limits = { maxFileBytes: 2_000_000, maxTextBytes: 10_000 };
const type = 'multipart/form-data; boundary=b';

/** Bytes that come in chunks of the given lengths, the last of which is repeated. */
function inChunks(bytes: Uint8Array, lengths: readonly number[] = [65_536]): Readable {
  function* chunks() {
    for (let at = 0, count = 0; at < bytes.length; count += 1) {
      const length = lengths[Math.min(count, lengths.length - 1)] ?? 1;
      yield bytes.subarray(at, at + length);
      at += length;
    }
  }
  return Readable.from(chunks());
}

/** Reads a body whose boundary is `b` unless `type` says otherwise, one character a byte. */
function read(
  body: string | Uint8Array,
  { type: given = type, lengths, ...rest }: { type?: string; lengths?: number[]; fileFields?: string[] } = {},
) {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
  return readMultipart(inChunks(bytes, lengths), given, limits, { fileFields: ['file'], ...rest });
}

/** A part with the boundary `b`; `more` goes on in its Content-Disposition, and after a line end as further headers. */
function part(name: string, value: string, more = ''): string {
  return `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
}

const close = '--b--\r\n';
const whole = part('a', 'x') + close;

/** The first problem of the input that a body was refused for. */
async function problemOf(reading: Promise<unknown>): Promise<string | undefined> {
  const { code, details } = (await rejection(reading)) as GatewayError;
  expect(code).to.equal('invalid_input');
  return details?.[0]?.problem;
}

/** As a form sends a text: with the line ends of the network. */
const line = (text: string) => text.replace(/\r\n|\r|\n/g, '\r\n');

/** Bytes in which boundaries seem to begin everywhere. */
const tricky = fc
  .array(fc.oneof(fc.constantFrom('\r', '\n', '\r\n', '-', '--', '\r\n--', '\r\n----'), fc.string()))
  .map((texts) => Buffer.from(texts.join('')));
const lengths = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 30 });

describe('readMultipart', () => {
  it('gives back what FormData sends, byte for byte, wherever it is cut', async () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((text) => !/%|^file$/.test(text));
    const field = fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 50 }));
    const fields = fc.uniqueArray(field, { selector: ([text]) => line(text), maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fields, fc.option(tricky), lengths, async (list, file, cuts) => {
        const form = new FormData();
        for (const [key, text] of list) form.append(key, text);
        if (file) form.append('file', new Blob([file]), 'a "b"\\.png');
        const sent = new Response(form);
        const body = Buffer.from(await sent.arrayBuffer());
        const got = await read(body, { type: sent.headers.get('content-type') ?? '', lengths: cuts });
        const texts = [...got.fields].map(([key, bytes]) => [key, Buffer.from(bytes).toString()]);
        expect(texts).to.deep.equal(list.map(([key, text]) => [line(key), line(text)]));
        const came = got.files.get('file');
        expect(came && Buffer.from(came.bytes)).to.deep.equal(file ?? undefined);
        expect(came?.name).to.equal(file ? '.png' : undefined);
        expect(got.problems).to.deep.equal([]);
      }),
      { numRuns: 300 },
    );
  });

  it('accepts or refuses whatever comes, wherever it is cut, and does nothing else', async () => {
    const form = part('a', 'x') + part('file', 'y', '; filename="z"') + close;
    const outcome = (body: string, cuts?: number[]) =>
      read(body, cuts ? { lengths: cuts } : {}).catch((error) => {
        if (error instanceof GatewayError && error.status === 400) return error.details;
        throw error;
      });
    const put = fc.oneof(fc.string(), fc.constantFrom('\r\n--b', '\r\n', '"', ';', '\\', '--'));
    const mutation = fc.tuple(fc.nat(form.length), fc.nat(9), put);
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { maxLength: 4 }), lengths, async (mutations, cuts) => {
        let body = form;
        for (const [at, removed, put] of mutations) body = body.slice(0, at) + put + body.slice(at + removed);
        expect(await outcome(body, cuts)).to.deep.equal(await outcome(body));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves bytes as they are, whatever encoding their part claims', async () => {
    const encodings = ['7bit', 'base64', 'nonsense'].map((name) => `Content-Transfer-Encoding: ${name}`);
    for (const header of [...encodings, 'Content-Type: text/plain; charset=utf-16']) {
      const { fields } = await read(part('a', '\xff\0eA==', `\r\n${header}`) + close);
      expect(fields.get('a'), header).to.deep.equal(new Uint8Array(Buffer.from('\xff\0eA==', 'latin1')));
    }
  });

  it('knows a file by its filename or by its type', async () => {
    const sizeOf = async (more: string) =>
      (await read(part('file', 'yy', more) + close)).files.get('file')?.bytes.length;
    const names = ['; filename="x"', '; filename=""', '; filename=x; size=1', "; filename*=UTF-8''%zz"];
    const types = ['Content-Type: application/octet-stream', 'content-type:Application/Octet-Stream; a=b'];
    for (const more of [...names, ...types.map((header) => `\r\n${header}`)])
      expect(await sizeOf(more), more).to.equal(2);
    expect(await sizeOf('\r\nContent-Type: text/plain')).to.equal(undefined);
  });

  it('counts a file that is not wanted, and does not keep it', async () => {
    const upload = (size: number) =>
      read(part('file', 'x'.repeat(size), '; filename="x"') + close, { fileFields: [] });
    expect((await upload(1000)).files.size).to.equal(0);
    expect(await codeOf(upload(limits.maxFileBytes + 1))).to.equal('too_large');
  });

  it('reports every name that is wrong, once', async () => {
    const texts = ['a', 'a', 'a', '\xff', 'n'.repeat(201), 'b'].map((name) => part(name, '1'));
    const uploads = ['image', 'file'].map((name) => part(name, '1', '; filename="x"'));
    const { fields, files, problems } = await read([...texts, ...uploads, close].join(''));
    expect([...fields.keys(), files.get('file')?.bytes.length]).to.deep.equal(['b', 1]);
    expect(problems.map(({ field, problem }) => `${field} ${problem}`)).to.deep.equal([
      'a must be given once, but is given more than once',
      'body must have names that are UTF-8 text',
      'body must not have names of more than 200 bytes',
      'image must not be a file; the file field is called file',
    ]);
  });

  it('reads names as browsers and as curl quote them', async () => {
    const escaped = { 'a%22b%0d%0Ac': 'a"b\r\nc', 'a\\"b': 'a"b' };
    const names = { ...escaped, 'a\\': 'a\\', 'a\\b': 'a\\b', '%41': '%41', '': '' };
    for (const [sent, name] of Object.entries(names))
      for (const more of ['', '; x=y', '\r\nX: "']) {
        const { fields } = await read(part(sent, 'x', more) + close);
        expect([...fields.keys()], sent + more).to.deep.equal([name]);
      }
  });

  const boundaries = [...words`json octet-stream urlencoded - ---- ----=_Part_1:2/3`, 'b'.repeat(70), 'a b'];
  for (const boundary of boundaries)
    it(`accepts the boundary ${boundary}`, async () => {
      const body = whole.replaceAll('--b', `--${boundary}`);
      const plain = boundary.includes(' ') ? [] : [`multipart/form-data; boundary=${boundary}`];
      for (const type of [...plain, `Multipart/Form-Data;x=y ;BOUNDARY="${boundary}"`])
        expect((await read(body, { type })).fields.size).to.equal(1);
    });

  const noBoundaries = words`; ;boundary ;boundary= ;boundary="" ;boundary="b ;boundary=ä`;
  const odd = ['', '; boundary="b "', `; boundary=${'b'.repeat(71)}`, '; boundary="a\0"'];
  for (const parameter of [...noBoundaries, ...odd])
    it(`refuses a boundary that is given as ${JSON.stringify(parameter.slice(0, 20))}`, async () => {
      const type = `multipart/form-data${parameter}`;
      expect(await problemOf(read(whole, { type }))).to.include('boundary of 1 to 70 characters');
    });

  it('accepts exactly its limits', async () => {
    const upload = part('file', 'x'.repeat(limits.maxFileBytes), '; filename="x"');
    const full = await read(part('a', 'x'.repeat(limits.maxTextBytes)) + upload + close);
    const sizes = {
      maxTextBytes: full.fields.get('a')?.length,
      maxFileBytes: full.files.get('file')?.bytes.length,
    };
    expect(sizes).to.deep.equal(limits);
    const empty = await read(close);
    expect([empty.fields.size, empty.files.size, empty.problems]).to.deep.equal([0, 0, []]);
  });

  it('accepts padding behind a boundary, a preamble and an epilogue', async () => {
    const padded = whole.replaceAll('--b\r', '--b \t\r');
    const { fields } = await read(`a\r\n--\r\n${padded}--b\r\nb`);
    expect([...fields.keys()]).to.deep.equal(['a']);
  });

  // Each takes some 10 ms of the processor; what takes time that grows faster than the file takes many seconds.
  const starts = ['\r\n--', `\r\n--${'b'.repeat(69)}`, `\n${'-'.repeat(200)}`];
  const fills = ['\r', '-', '\r\n', ...starts, '"', 'filename="'];
  for (const fill of fills)
    it(`is not slowed by a file of ${JSON.stringify(fill.slice(0, 12))}`, async () => {
      for (const boundary of ['b'.repeat(70), '-'.repeat(70)]) {
        const content = Buffer.alloc(limits.maxFileBytes, fill);
        const start = part('file', '', '; filename="x"').slice(0, -2).replace('--b', `--${boundary}`);
        const body = Buffer.concat([Buffer.from(start), content, Buffer.from(`\r\n--${boundary}--`)]);
        const before = ownCpuMs();
        const type = `multipart/form-data; boundary=${boundary}`;
        const { files } = await read(body, { type, lengths: [1000] });
        expect(ownCpuMs() - before).to.be.below(3000);
        expect(Buffer.compare(files.get('file')?.bytes ?? Buffer.of(), content)).to.equal(0);
      }
    });

  const disposition = 'Content-Disposition: form-data; name="a"';
  const many = (length: number, more = '') =>
    Array.from({ length }, (_, at) => part(`p${at}`, '1', more)).join('') + close;
  const headed = (headers: string) => `--b\r\n${headers}\r\nx\r\n${close}`;
  const malformed: Record<string, [string, RegExp]> = {
    nothing: ['', /no part was found/],
    nonsense: ['nonsense', /no part was found/],
    'another boundary': [whole.replaceAll('--b', '--c'), /no part was found/],
    'a large body of another boundary': [`--c\r\n${'x'.repeat(1_000_000)}`, /no part was found/],
    'a long preamble': [`${'x'.repeat(70_000)}\r\n${part('a', 'x')}`, /no part was found/],
    'a body that breaks off in a value': [part('a', 'x'), /breaks off/],
    'a body that breaks off in a header': [`${part('a', 'x')}--b\r\nContent-`, /breaks off/],
    'a body that breaks off in its last boundary': [`${part('a', 'x')}--b-`, /breaks off/],
    'a part without headers': [headed(''), /Content-Disposition/],
    'a part without a disposition': [headed('X: y\r\n'), /Content-Disposition/],
    'a part without a name': [headed('Content-Disposition: form-data\r\n'), /Content-Disposition/],
    'an attachment': [headed('Content-Disposition: attachment; name="a"\r\n'), /Content-Disposition/],
    'a name without its end': [headed('Content-Disposition: form-data; name="a\r\n'), /Content-Disposition/],
    'two dispositions': [headed(`${disposition}\r\n${disposition}\r\n`), /header twice/],
    'a line that is no header': [headed(`x\r\n${disposition}\r\n`), /malformed header/],
    'a bare line feed in a header': [headed(`${disposition}\nX: y\r\n`), /malformed header/],
    'more behind a boundary': [`${part('a', 'x')}--bc\r\n${disposition}\r\n\r\nx\r\n${close}`, /not alone/],
    'a header of 9 KB': [part('a', 'x', `\r\nX: ${'y'.repeat(9000)}`) + close, /8192 bytes/],
    'a header of quotes': [part('a', 'x', `; ${'filename="'.repeat(40_000)}`) + close, /8192 bytes/],
    'a header without an end': [`--b\r\nX: ${'y'.repeat(1_000_000)}`, /8192 bytes/],
    '101 text fields': [many(101), /^must not hold more than 100 text fields$/],
    '3 files': [many(3, '; filename="x"'), /^must not be a file/],
  };
  for (const [name, [body, problem]] of Object.entries(malformed))
    it(`refuses ${name}`, async () => {
      expect(await problemOf(read(body))).to.match(problem);
    });

  const tooLarge: Record<string, string> = {
    'a file past the limit': part('file', 'x'.repeat(limits.maxFileBytes + 1), '; filename="x"'),
    'two files past the limit together': part('file', 'x'.repeat(1_500_000), '; filename="x"').repeat(2),
    'a text past the limit': part('a', 'x'.repeat(limits.maxTextBytes + 1)),
    'texts past the limit together': part('a', 'x'.repeat(6000)) + part('c', 'x'.repeat(6000)),
    'a long epilogue': `${part('a', 'x') + close}${'x'.repeat(70_000)}`,
    'many long headers': many(10, `; x="${'y'.repeat(8000)}"`),
  };
  for (const [name, body] of Object.entries(tooLarge))
    it(`refuses ${name}, and gives the limits`, async () => {
      const error = await rejection(read(body));
      expect(error.code).to.equal('too_large');
      expect(error.message).to.match(/2000000.*10000/);
    });
});

describe('createMultipartParser', () => {
  it('reports each byte once, as content or as framing, wherever the body is cut', () => {
    const values = fc.array(fc.string({ maxLength: 40 }), { maxLength: 4 });
    const edge = fc.constantFrom('', 'preamble\r\n', '\r\n');
    fc.assert(
      fc.property(edge, values, edge, fc.integer({ min: 1, max: 90 }), (before, texts, after, piece) => {
        const body = Buffer.from(before + texts.map((text) => part('a', text)).join('') + close + after);
        let reported = 0;
        const parser = createMultipartParser('b', {
          onPart: () => undefined,
          onContent: ({ length }) => (reported += length),
          onFraming: (bytes) => (reported += bytes),
        });
        for (let at = 0; at < body.length; at += piece) parser.write(body.subarray(at, at + piece));
        parser.end();
        expect(reported).to.equal(body.length);
      }),
    );
  });
});

describe('the request that readMultipart reads', () => {
  let request: Readable;
  const open = () => new Readable({ read() {} });
  const start = (signal?: AbortSignal) =>
    readMultipart(request, type, limits, { fileFields: ['file'], signal });
  beforeEach(() => {
    request = open();
  });

  /** Only the one listener that keeps an error from ending the process is left, and nothing is read any more. */
  function expectLeft(): void {
    for (const event of ['data', 'end', 'close']) expect(request.listenerCount(event), event).to.equal(0);
    expect([request.listenerCount('error'), request.destroyed]).to.deep.equal([1, false]);
  }

  it('is left paused and whole after a refusal, for the caller to read the rest', async () => {
    const reading = start();
    request.push('--b\r\nnonsense\r\n\r\n');
    expect(await codeOf(reading)).to.equal('invalid_input');
    expectLeft();
    expect(request.isPaused()).to.equal(true);
    request.push('the rest');
    request.push(null);
    expect(await request.toArray()).to.have.length(1);
  });

  it('is left at once when the signal is aborted, with its reason, and not read after that', async () => {
    const caller = new AbortController();
    const reading = start(caller.signal);
    request.push(part('a', 'x'));
    caller.abort(new Error('client gone'));
    expect((await rejection(reading)).message).to.equal('client gone');
    expectLeft();
    request = open();
    expect((await rejection(start(caller.signal))).message).to.equal('client gone');
    expectLeft();
  });

  it('has no listener left but one after success', async () => {
    const caller = new AbortController();
    const reading = start(caller.signal);
    request.push(part('a', 'x') + close);
    request.push(null);
    expect((await reading).fields.size).to.equal(1);
    caller.abort();
    expect(request.listenerCount('data') + request.listenerCount('end')).to.equal(0);
  });

  it('may fail, before and after the promise is settled', async () => {
    const reading = start();
    request.destroy(new Error('reset'));
    expect(await codeOf(reading)).to.equal('invalid_input');
    expect(await codeOf(start())).to.equal('invalid_input');
    request = open();
    const refusing = start();
    request.push('--b\r\nnonsense\r\n\r\n');
    await rejection(refusing);
    request.destroy(new Error('reset'));
    await new Promise(setImmediate);
  });

  it('holds nothing of a refused upload, while its error lives on', async () => {
    const before = heldMemory();
    const errors: Error[] = [];
    const large = { ...limits, maxFileBytes: 8_000_000 };
    for (let at = 0; at < 5; at++) {
      const upload = open();
      const reading = readMultipart(upload, type, large, { fileFields: ['file'] });
      upload.push(part('file', '', '; filename="x"').slice(0, -2));
      for (let chunk = 0; chunk < 81; chunk++) upload.push(Buffer.alloc(100_000));
      errors.push(await rejection(reading));
      upload.destroy();
    }
    expect(await heldBeyond(before, 9_000_000)).to.be.below(9_000_000);
    for (const error of errors) expect(error).to.have.property('code', 'too_large');
  });
});

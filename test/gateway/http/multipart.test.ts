import { Readable } from 'node:stream';
import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../../gateway/errors.js';
import { readMultipart } from '../../../gateway/http/multipart.js';
import { createMultipartParser } from '../../../gateway/http/multipart-parser.js';
import { ownCpuMs } from '../../bench/measure.js';
import { heldBeyond, heldMemory } from '../../needs.js';
import { rejection } from '../download/raw-server.js';
import { close, limits, part, pieces, read } from './form-body.js';

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
    const value = fc.string({ unit: 'grapheme', maxLength: 50 });
    const field = fc.tuple(name, value);
    const fields = fc.uniqueArray(field, { selector: ([text]) => line(text), maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fields, fc.option(tricky), lengths, async (list, file, cuts) => {
        const form = new FormData();
        for (const [key, text] of list) form.append(key, text);
        if (file) form.append('file', new Blob([file]), 'a "b"\\.png');
        const sent = new Response(form);
        const type = sent.headers.get('content-type') ?? '';
        const body = Buffer.from(await sent.arrayBuffer());
        const got = await readMultipart(pieces(body, cuts), type, limits, { fileFields: ['file'] });
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

  it('takes or refuses whatever comes, and does nothing else', async () => {
    const whole = part('a', 'x') + part('file', 'y', '; filename="z"') + close;
    const mutation = fc.tuple(
      fc.nat(whole.length),
      fc.nat(9),
      fc.oneof(fc.string(), fc.constantFrom('\r\n--b', '\r\n', '"', ';', '\\', '--')),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { maxLength: 4 }), lengths, async (mutations, cuts) => {
        let body = whole;
        for (const [at, gone, put] of mutations) body = body.slice(0, at) + put + body.slice(at + gone);
        // Where it was cut makes no difference.
        expect(await outcome(body, cuts)).to.deep.equal(await outcome(body));
      }),
      { numRuns: 500 },
    );
  });

  it('leaves bytes as they are, whatever encoding their part claims', async () => {
    for (const header of [
      'Content-Transfer-Encoding: 7bit',
      'Content-Transfer-Encoding: base64',
      'Content-Transfer-Encoding: nonsense',
      'Content-Type: text/plain; charset=utf-16',
    ]) {
      const { fields } = await read(part('a', '\xff\0eA==', `\r\n${header}`) + close);
      expect(fields.get('a'), header).to.deep.equal(new Uint8Array(Buffer.from('\xff\0eA==', 'latin1')));
    }
  });

  it('takes a part for a file by its filename or by its type', async () => {
    for (const more of [
      '; filename="x"',
      '; filename=""',
      '; filename=x; size=1',
      "; filename*=UTF-8''%zz",
      '\r\nContent-Type: application/octet-stream',
      '\r\ncontent-type:Application/Octet-Stream; a=b',
    ]) {
      const { fields, files } = await read(part('file', 'yy', more) + close);
      expect([fields.size, files.get('file')?.bytes.length], more).to.deep.equal([0, 2]);
    }
    expect((await read(part('file', 'yy', '\r\nContent-Type: text/plain') + close)).files.size).to.equal(0);
  });

  it('counts a file that is not wanted, and does not keep it', async () => {
    const upload = (size: number) => part('file', 'x'.repeat(size), '; filename="x"') + close;
    expect((await read(upload(1000), { fileFields: [] })).files.size).to.equal(0);
    const error = await rejection(read(upload(limits.maxFileBytes + 1), { fileFields: [] }));
    expect(error.code).to.equal('too_large');
  });

  it('tells every name that is wrong, once', async () => {
    const body =
      part('a', '1') +
      part('a', '2') +
      part('a', '3') +
      part('\xff', '4') +
      part('n'.repeat(201), '5') +
      part('b', '6') +
      part('image', '7', '; filename="x"') +
      part('file', '8', '; filename="x"') +
      close;
    const { fields, files, problems } = await read(body);
    expect([...fields.keys(), files.get('file')?.bytes.length]).to.deep.equal(['b', 1]);
    expect(problems.map(({ field, problem }) => `${field} ${problem}`)).to.deep.equal([
      'a must be given once, but is given more than once',
      'body must have names that are UTF-8 text',
      'body must not have names of more than 200 bytes',
      'image must not be a file; the file field is called file',
    ]);
  });

  it('reads names as browsers and as curl quote them', async () => {
    const names = {
      'a%22b%0d%0Ac': 'a"b\r\nc',
      'a\\"b': 'a"b',
      'a\\': 'a\\',
      'a\\b': 'a\\b',
      '%41': '%41',
      '': '',
    };
    for (const [sent, name] of Object.entries(names)) {
      for (const more of ['', '; x=y', '\r\nX: "']) {
        expect([...(await read(part(sent, 'x', more) + close)).fields.keys()], sent + more).to.deep.equal([
          name,
        ]);
      }
    }
  });

  describe('a boundary', () => {
    const body = (boundary: string) => (part('a', 'x') + close).replaceAll('--b', `--${boundary}`);
    for (const boundary of [
      'json',
      'octet-stream',
      'urlencoded',
      '-',
      '----',
      '----=_Part_1:2/3',
      'b'.repeat(70),
    ]) {
      it(`may be ${boundary}`, async () => {
        for (const type of [
          `multipart/form-data; boundary=${boundary}`,
          `Multipart/Form-Data;x=y ;BOUNDARY="${boundary}"`,
        ]) {
          expect((await read(body(boundary), { type })).fields.size).to.equal(1);
        }
      });
    }
    it('may have spaces in it where it is quoted', async () => {
      expect((await read(body('a b'), { type: 'multipart/form-data; boundary="a b"' })).fields.size).to.equal(
        1,
      );
    });
    for (const parameter of [
      '',
      ';',
      '; boundary',
      '; boundary=',
      '; boundary=""',
      '; boundary="b',
      '; boundary="b "',
      `; boundary=${'b'.repeat(71)}`,
      '; boundary="a\0"',
      '; boundary=ä',
    ]) {
      it(`may not be given as ${JSON.stringify(parameter.slice(0, 20))}`, async () => {
        const error = await rejection(read(body('b'), { type: `multipart/form-data${parameter}` }));
        expect((error as GatewayError).details?.[0]?.problem).to.include('boundary of 1 to 70 characters');
      });
    }
  });

  it('takes exactly its limits', async () => {
    const body =
      part('a', 'x'.repeat(limits.maxTextBytes)) +
      part('file', 'x'.repeat(limits.maxFileBytes), '; filename="x"');
    const { fields, files } = await read(body + close);
    expect([fields.get('a')?.length, files.get('file')?.bytes.length]).to.deep.equal([
      limits.maxTextBytes,
      limits.maxFileBytes,
    ]);
    const empty = await read(close);
    expect([empty.fields.size, empty.files.size, empty.problems]).to.deep.equal([0, 0, []]);
  });

  it('takes padding behind a boundary, a preamble and an epilogue', async () => {
    const { fields } = await read(
      `a\r\n--\r\n${(part('a', 'x') + close).replaceAll('--b\r', '--b \t\r')}--b\r\nb`,
    );
    expect([...fields.keys()]).to.deep.equal(['a']);
  });

  // Each takes some 10 ms of the processor; what takes time that grows faster than the file takes many seconds.
  for (const fill of [
    '\r',
    '-',
    '\r\n',
    '\r\n--',
    `\r\n--${'b'.repeat(69)}`,
    `\n${'-'.repeat(200)}`,
    '"',
    'filename="',
  ]) {
    it(`is not slowed by a file of ${JSON.stringify(fill.slice(0, 12))}`, async () => {
      for (const boundary of ['b'.repeat(70), '-'.repeat(70)]) {
        const content = Buffer.alloc(limits.maxFileBytes, fill);
        const start = part('file', '', '; filename="x"').slice(0, -2).replace('--b', `--${boundary}`);
        const body = Buffer.concat([Buffer.from(start), content, Buffer.from(`\r\n--${boundary}--`)]);
        const type = `multipart/form-data; boundary=${boundary}`;
        const before = ownCpuMs();
        const { files } = await read(body, { type, lengths: [1000] });
        expect(ownCpuMs() - before).to.be.below(3000);
        expect(Buffer.compare(files.get('file')?.bytes ?? Buffer.of(), content)).to.equal(0);
      }
    });
  }
});

/** As a form sends a text: with the line ends of the network. */
function line(text: string): string {
  return text.replace(/\r\n|\r|\n/g, '\r\n');
}

/** What was read, or why it was refused; anything else than a refusal of the input is thrown on. */
async function outcome(body: string, lengths?: number[]): Promise<unknown> {
  try {
    return await read(body, lengths ? { lengths } : {});
  } catch (error) {
    if (error instanceof GatewayError && error.status === 400) return error.details;
    throw error;
  }
}

const type = 'multipart/form-data; boundary=b';

describe('the request that readMultipart reads', () => {
  const open = () => new Readable({ read() {} });
  const start = (request: Readable, signal?: AbortSignal) =>
    readMultipart(request, type, limits, { fileFields: ['file'], signal });

  /** Only the one listener that keeps an error from ending the process is left, and nothing is read any more. */
  function expectLeft(request: Readable): void {
    for (const event of ['data', 'end', 'close']) expect(request.listenerCount(event), event).to.equal(0);
    expect(request.listenerCount('error')).to.equal(1);
    expect(request.destroyed).to.equal(false);
  }

  it('is left paused and whole after a refusal, for the caller to read the rest', async () => {
    const request = open();
    const reading = start(request);
    request.push('--b\r\nnonsense\r\n\r\n');
    expect(await rejection(reading)).to.have.property('code', 'invalid_input');
    expectLeft(request);
    expect(request.isPaused()).to.equal(true);
    request.push('the rest');
    request.push(null);
    expect(await request.toArray()).to.have.length(1);
  });

  it('is let go at once when the signal is aborted, with its reason', async () => {
    const request = open();
    const caller = new AbortController();
    const reading = start(request, caller.signal);
    request.push(part('a', 'x'));
    caller.abort(new Error('client gone'));
    expect((await rejection(reading)).message).to.equal('client gone');
    expectLeft(request);
  });

  it('is not read for a caller who has gone', async () => {
    const request = open();
    expect((await rejection(start(request, AbortSignal.abort(new Error('gone'))))).message).to.equal('gone');
    expectLeft(request);
  });

  it('may fail, before and after the promise is settled', async () => {
    const request = open();
    const reading = start(request);
    request.destroy(new Error('reset'));
    expect(await rejection(reading)).to.have.property('code', 'invalid_input');
    expect(await rejection(start(request))).to.have.property('code', 'invalid_input');
    const refused = open();
    const refusing = start(refused);
    refused.push('--b\r\nnonsense\r\n\r\n');
    await rejection(refusing);
    refused.destroy(new Error('reset'));
    await new Promise(setImmediate);
  });

  it('holds nothing of a refused upload, while its error lives on', async () => {
    const before = heldMemory();
    const errors: Error[] = [];
    for (let at = 0; at < 5; at++) {
      const request = open();
      const reading = readMultipart(
        request,
        type,
        { ...limits, maxFileBytes: 8_000_000 },
        { fileFields: ['file'] },
      );
      request.push(part('file', '', '; filename="x"').slice(0, -2));
      for (let piece = 0; piece < 81; piece++) request.push(Buffer.alloc(100_000));
      errors.push(await rejection(reading));
      request.destroy();
    }
    expect(await heldBeyond(before, 9_000_000)).to.be.below(9_000_000);
    for (const error of errors) expect(error).to.have.property('code', 'too_large');
  });

  it('has no listener left but one after success', async () => {
    const request = open();
    const caller = new AbortController();
    const reading = start(request, caller.signal);
    request.push(part('a', 'x') + close);
    request.push(null);
    expect((await reading).fields.size).to.equal(1);
    caller.abort();
    expect(request.listenerCount('data') + request.listenerCount('end')).to.equal(0);
  });
});

describe('readMultipart refuses', () => {
  const disposition = 'Content-Disposition: form-data; name="a"';
  const many = (length: number, more = '') =>
    Array.from({ length }, (_, at) => part(`p${at}`, '1', more)).join('') + close;
  const malformed: Record<string, [string, RegExp]> = {
    nothing: ['', /no part was found/],
    nonsense: ['nonsense', /no part was found/],
    'another boundary': [
      part('a', 'x').replace('--b', '--c') + close.replace('--b', '--c'),
      /no part was found/,
    ],
    'a large body of another boundary': [`--c\r\n${'x'.repeat(1_000_000)}`, /no part was found/],
    'a long preamble': [`${'x'.repeat(70_000)}\r\n${part('a', 'x')}`, /no part was found/],
    'a body that breaks off in a value': [part('a', 'x'), /breaks off/],
    'a body that breaks off in a header': [`${part('a', 'x')}--b\r\nContent-`, /breaks off/],
    'a body that breaks off in its last boundary': [`${part('a', 'x')}--b-`, /breaks off/],
    'a part without headers': [`--b\r\n\r\nx\r\n${close}`, /Content-Disposition/],
    'a part without a disposition': [`--b\r\nX: y\r\n\r\nx\r\n${close}`, /Content-Disposition/],
    'a part without a name': [
      `--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n${close}`,
      /Content-Disposition/,
    ],
    'an attachment': [
      `--b\r\nContent-Disposition: attachment; name="a"\r\n\r\nx\r\n${close}`,
      /Content-Disposition/,
    ],
    'a name without its end': [
      `--b\r\nContent-Disposition: form-data; name="a\r\n\r\nx\r\n${close}`,
      /Content-Disposition/,
    ],
    'two dispositions': [`--b\r\n${disposition}\r\n${disposition}\r\n\r\nx\r\n${close}`, /header twice/],
    'a line that is no header': [`--b\r\nx\r\n${disposition}\r\n\r\nx\r\n${close}`, /malformed header/],
    'a bare line feed in a header': [`--b\r\n${disposition}\nX: y\r\n\r\nx\r\n${close}`, /malformed header/],
    'more behind a boundary': [`${part('a', 'x')}--bc\r\n${disposition}\r\n\r\nx\r\n${close}`, /not alone/],
    'a header of 9 KB': [part('a', 'x', `\r\nX: ${'y'.repeat(9000)}`) + close, /8192 bytes/],
    'a header of quotes': [part('a', 'x', `; ${'filename="'.repeat(40_000)}`) + close, /8192 bytes/],
    'a header without an end': [`--b\r\nX: ${'y'.repeat(1_000_000)}`, /8192 bytes/],
    '101 text fields': [many(101), /^must not hold more than 100 text fields$/],
    '3 files': [many(3, '; filename="x"'), /^must not be a file/],
  };
  for (const [name, [body, problem]] of Object.entries(malformed)) {
    it(name, async () => {
      const error = await rejection(read(body));
      expect(error.code).to.equal('invalid_input');
      expect((error as GatewayError).details?.[0]?.problem).to.match(problem);
    });
  }

  const tooLarge: Record<string, string> = {
    'a file past the limit': part('file', 'x'.repeat(limits.maxFileBytes + 1), '; filename="x"'),
    'two files past the limit together': part('file', 'x'.repeat(1_500_000), '; filename="x"').repeat(2),
    'a text past the limit': part('a', 'x'.repeat(limits.maxTextBytes + 1)),
    'texts past the limit together': part('a', 'x'.repeat(6000)) + part('c', 'x'.repeat(6000)),
    'a long epilogue': `${part('a', 'x') + close}${'x'.repeat(70_000)}`,
    'many long headers': Array.from({ length: 10 }, (_, at) =>
      part(`p${at}`, 'x', `; x="${'y'.repeat(8000)}"`),
    ).join(''),
  };
  for (const [name, body] of Object.entries(tooLarge)) {
    it(`${name}, with the limits`, async () => {
      const error = await rejection(read(body));
      expect(error)
        .to.include({ code: 'too_large' })
        .and.have.property('message')
        .that.matches(/2000000.*10000/);
    });
  }
});

describe('the multipart parser', () => {
  it('tells of each byte once, as content or as framing, wherever the body is cut', () => {
    const values = fc.array(fc.string({ maxLength: 40 }), { maxLength: 4 });
    const edge = fc.constantFrom('', 'preamble\r\n', '\r\n');
    fc.assert(
      fc.property(edge, values, edge, fc.integer({ min: 1, max: 90 }), (before, texts, after, piece) => {
        const body = Buffer.from(before + texts.map((text) => part('a', text)).join('') + close + after);
        let told = 0;
        const parser = createMultipartParser('b', {
          onPart: () => undefined,
          onContent: ({ length }) => (told += length),
          onFraming: (bytes) => (told += bytes),
        });
        for (let at = 0; at < body.length; at += piece) parser.write(body.subarray(at, at + piece));
        parser.end();
        expect(told).to.equal(body.length);
      }),
    );
  });
});

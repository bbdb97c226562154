import { expect } from 'chai';
import fc from 'fast-check';
import { GatewayError } from '../../../../gateway/errors.js';
import { readMultipart } from '../../../../gateway/http/body/multipart.js';
import { ownCpuMs } from '../../../bench/cpu.js';
import { rejection } from '../../source/raw-server.js';
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

  it('gives each value and the file alone in an ArrayBuffer', async () => {
    const { fields, files } = await read(part('a', 'x') + part('file', 'yy', '; filename=""') + close);
    expect([fields.get('a')?.buffer.byteLength, files.get('file')?.bytes.buffer.byteLength]).to.deep.equal([
      1, 2,
    ]);
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

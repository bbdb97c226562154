import { expect } from 'chai';
import fc from 'fast-check';
import sharp from 'sharp';
import { asSchema, type JsonSchema } from '../../schemas/json-schema.js';
import { fixture } from '../fixtures.js';
import { paint, toSharp } from '../pool/image/pictures.js';
import { type Answer, type CallInit, operatorToken, startTestGateway, type TestGateway } from './harness.js';

type Step = Record<string, unknown>;

/** A few values that a parameter may be given, right and wrong ones. */
function valuesFor(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, minimum, maximum, choice, enum: listed } = schema;
  const wrong = fc.constantFrom<unknown>(null, 'x y', -1, 1e9, '200%', [], {});
  const least = typeof minimum === 'number' ? Math.ceil(minimum) : 0;
  const most = Math.min(typeof maximum === 'number' ? maximum : 40, least + 60);
  const isNumber = [type].flat().some((each) => each === 'integer' || each === 'number');
  const words = [...Object.keys(asSchema(choice)), ...((listed as unknown[]) ?? [])];
  const right = [
    ...(words.length > 0 ? [fc.constantFrom<unknown>(...words)] : []),
    ...(isNumber ? [fc.integer({ min: least, max: Math.max(least, most) })] : []),
    ...(schema.measure !== undefined ? [fc.constantFrom(3, '10%', '50%')] : []),
    ...(type === 'boolean' ? [fc.boolean()] : []),
    ...(schema.color ? [fc.constantFrom('red', '#abc', 'pale blue')] : []),
    ...(type === 'string' && words.length === 0 && !schema.color ? [fc.constant('Ab')] : []),
  ];
  if (right.length === 0) return wrong;
  return fc.oneof({ weight: 25, arbitrary: fc.oneof(...right) }, { weight: 1, arbitrary: wrong });
}

describe('/pipeline', function () {
  this.timeout(60_000);
  let api: TestGateway;
  let picture: Buffer;

  before(async () => {
    api = await startTestGateway({
      HELPER_PLUGINS: fixture('plugins/steps'),
      HELPER_OPERATOR_TOKEN: operatorToken,
      HELPER_MAX_PIXELS: '1000000',
    });
    const wavy = (x: number, y: number) => [(x * 5) & 255, (y * 7) & 255, (x * y) & 255];
    picture = await toSharp(paint(320, 200, wavy))
      .withMetadata({ orientation: 6 })
      .jpeg({ quality: 90 })
      .toBuffer();
  });
  after(() => api.close());

  const form = (fields: Record<string, unknown>, bytes: Uint8Array = picture) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields))
      body.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    body.set('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'picture');
    return body;
  };
  const run = (steps: unknown, more: Record<string, unknown> = {}, init: CallInit = {}) =>
    api.call('/pipeline', { body: form({ steps, ...more }), ...init });
  const one = ({ use, ...input }: Step, more: Record<string, unknown>, bytes: Uint8Array) =>
    api.call(`/${use}`, { body: form({ ...input, ...more }, bytes) });
  const problems = ({ status, json }: Answer) => [
    status,
    ...(json?.error.details ?? []).map(({ field }: { field: string }) => field),
  ];
  const sizeOf = async ({ bytes }: Answer) => {
    const { width, height, format } = await sharp(bytes).metadata();
    return `${format} ${width}x${height}`;
  };

  const card = [
    { use: 'media/resize', width: 120, height: 90, fit: 'cover' },
    { use: 'media/add-border', width: 5, color: 'red' },
    { use: 'media/add-watermark', text: 'Hello' },
  ];

  it('gives the bytes of its steps called one after another', async () => {
    for (const format of ['png', 'jpg', 'webp']) {
      let bytes: Uint8Array = picture;
      for (const [at, step] of card.entries()) {
        bytes = (await one(step, { format: at === card.length - 1 ? format : 'png' }, bytes)).bytes;
      }
      const answer = await run(card, { format });
      expect(answer.status).to.equal(200);
      expect(Buffer.compare(answer.bytes, bytes), format).to.equal(0);
    }
  });

  it('writes png, and what it is told', async () => {
    expect(await sizeOf(await run(card))).to.equal('png 130x100');
    expect(await sizeOf(await run([{ use: 'media/convert' }]))).to.equal('png 200x320');
    expect(await sizeOf(await run(card, { format: 'same' }))).to.equal('jpeg 130x100');
    expect(await sizeOf(await run(card, { format: 'jpg', quality: '30' }))).to.equal('jpeg 130x100');
  });

  it('runs helpers that read bytes, and the choice of format counts that the last one makes', async () => {
    const own = (use: string) => ({ use: `steps/${use}` });
    const answers = [
      await run([own('copy'), ...card]),
      await run([card[0], own('copy'), own('same-file'), card[1]], { format: 'jpg' }),
      await run([own('same-file')]),
      await run([card[1], own('choosy')]),
      await run([own('choosy'), card[1]]),
      await run([own('choosy')], { format: 'jpg' }),
    ];
    expect(await Promise.all(answers.map(sizeOf))).to.deep.equal([
      'png 130x100',
      'jpeg 132x102',
      'jpeg 320x200',
      'webp 212x332',
      'png 212x332',
      'jpeg 202x322',
    ]);
    const chained = (await one(card[1] as Step, { format: 'png' }, picture)).bytes;
    const last = await one(own('choosy'), {}, chained);
    expect(Buffer.compare((answers[3] as Answer).bytes, last.bytes)).to.equal(0);
    const report = await run([card[0], own('choosy')], { dryrun: '1' });
    expect(report.json.data).to.include({ operation: 'pipeline', format: 'webp' });
  });

  it('names a mistake by its step, at once with all others, in a dry run too', async () => {
    const bad = [{ use: 'media/resize', width: 0 }, 3, { use: 'text/diff-two-strings' }, { use: 'pipeline' }];
    const more = { use: 'media/add-border', colour: 'red', url: 'x', format: 'jpg', width: 'a' };
    const named = ['steps.0.width', 'steps.1', 'steps.2.use', 'steps.3.use'];
    const last = ['colour', 'format', 'url', 'width'].map((name) => `steps.4.${name}`);
    for (const dryrun of ['0', '1']) {
      const [status, ...fields] = problems(await run([...bad, more], { dryrun, quality: '101' }));
      expect([status, ...fields.sort()]).to.deep.equal([400, 'quality', ...named, ...last]);
      for (const steps of ['[{"use":', '{}', '[]', '7', JSON.stringify(Array(11).fill(card[0])), ' ']) {
        expect(problems(await run(steps, { dryrun })), steps).to.deep.equal([400, 'steps']);
      }
    }
  });

  it('names what a helper refuses, or cannot be', async () => {
    const choosy = (level: number) => ({ use: 'steps/choosy', level });
    expect(problems(await run([card[0], choosy(7)]))).to.deep.equal([400, 'steps.1.level']);
    expect(problems(await run([card[0], { use: 'steps/facts' }]))).to.deep.equal([400, 'steps.1.use']);
    const mark = { use: 'media/add-watermark', mark_url: 'https://127.0.0.1/x.png' };
    const { status, json } = await run([card[0], mark]);
    expect([status, json.error.message.slice(0, 17)]).to.deep.equal([400, 'steps.1.mark_url:']);
  });

  it('knows sizes before it decodes anything', async () => {
    const grow = { use: 'media/resize', width: 16_000, enlarge: true };
    const broken = picture.subarray(0, 2_000);
    const answer = await api.call('/pipeline', {
      body: form({ steps: [grow, { use: 'media/resize', width: 10 }] }, broken),
    });
    expect([answer.status, answer.json.error.code]).to.deep.equal([422, 'image_too_large']);
    expect(answer.json.error.message).to.include('on the way');
  });

  it('needs the scopes of its steps, and names the one that is missing', async () => {
    await api.manage('/api/tenants', { name: 'scoped' });
    const issue = async (scopes: string[]) => (await api.manage('/api/tenants/scoped/keys', { scopes })).key;
    const none = await issue(['media/*']);
    const some = await issue(['pipeline', 'media/resize']);
    const all = await issue(['pipeline', 'media/*']);
    expect((await run(card, {}, { key: none })).status).to.equal(403);
    const { status, json } = await run(card, {}, { key: some });
    expect([status, json.error.code]).to.deep.equal([403, 'scope_denied']);
    expect(json.error.message).to.include('media/add-border').and.include('steps.1');
    expect((await run(card, {}, { key: all })).status).to.equal(200);
    expect((await run(card.slice(0, 1), {}, { key: some })).status).to.equal(200);
  });

  it('is made once for the same steps, however they are written', async () => {
    const first = await run(card, { format: 'webp', quality: '71' });
    const again = await run(
      card.map((step) => ({ opacity: undefined, ...step, color: step.color === 'red' ? '#F00' : undefined })),
      { format: 'WEBP', quality: 71 },
    );
    expect([first.headers.get('x-cache'), again.headers.get('x-cache')]).to.deep.equal(['miss', 'hit']);
    const other = await run([...card].reverse(), { format: 'webp', quality: '71' });
    expect(other.headers.get('x-cache')).to.equal('miss');
    expect(other.headers.get('etag')).not.to.equal(first.headers.get('etag'));
  });

  it('keeps an animation where the format does', async () => {
    const frames = paint(40, 60, (_, y) => (y < 30 ? [200, 0, 0] : [0, 0, 200]));
    const raw = { width: 40, height: 60, channels: 3 as const, pageHeight: 30 };
    const gif = await sharp(frames.data, { raw })
      .gif({ delay: [70, 90] })
      .toBuffer();
    const send = (format: string) => api.call('/pipeline', { body: form({ steps: card, format }, gif) });
    const { pages, delay, pageHeight } = await sharp((await send('webp')).bytes, { pages: -1 }).metadata();
    expect({ pages, delay, pageHeight }).to.deep.equal({ pages: 2, delay: [70, 90], pageHeight: 40 });
    expect((await sharp((await send('png')).bytes).metadata()).pages).to.equal(undefined);
  });

  it('accepts in a run what it accepts in a dry run, and never fails', async () => {
    const helpers = [...api.gateway.registry.values()].filter(({ id }) => id.startsWith('media/'));
    const steps = helpers
      .filter(({ declaration }) => !declaration.output)
      .map(({ id, declaration }) => {
        const { format: _, quality: __, ...own } = asSchema(declaration.input.properties);
        const values = Object.entries(own).map(
          ([name, schema]) => [name, valuesFor(asSchema(schema))] as const,
        );
        const given = fc
          .subarray(values, { maxLength: Math.min(3, values.length) })
          .chain((chosen) => fc.record(Object.fromEntries(chosen)));
        return given.map((input): Step => ({ ...input, use: id }));
      });
    const lists = fc.array(fc.oneof(...steps), { minLength: 1, maxLength: 3 });
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(lists, fc.constantFrom('png', 'jpg', 'webp'), async (list, format) => {
        const dry = await run(list, { format, dryrun: '1' });
        const real = await run(list, { format });
        const said = JSON.stringify([list, dry.json?.error, real.json?.error]);
        expect(dry.status, said).to.be.oneOf([200, 400]);
        expect(real.status, said).to.be.oneOf([200, 400, 422]);
        if (real.status === 200) accepted += 1;
        // What depends on the size of the picture, only a run knows.
        const isOfPicture = real.status === 422 || /picture is|for a picture/.test(said);
        if (!isOfPicture) expect(real.status, said).to.equal(dry.status);
        if (dry.status === 400) expect(real.json.error.details, said).to.deep.equal(dry.json.error.details);
      }),
      { numRuns: 200 },
    );
    expect(accepted).to.be.above(20);
  });
});

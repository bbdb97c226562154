import { expect } from 'chai';
import { fixture } from '../fixtures.js';
import { startTestGateway, type TestGateway } from './harness.js';

describe('parameters of several types, over HTTP', () => {
  let api: TestGateway;

  before(async () => {
    api = await startTestGateway({ HELPER_PLUGINS: fixture('plugins/alternatives') });
  });

  after(() => api.close());

  /** The same text by each way that text can come. */
  async function sent(parameters: Record<string, string>) {
    const form = new FormData();
    for (const [name, value] of Object.entries(parameters)) form.set(name, value);
    const answers = await Promise.all([
      api.call(`/shape?${new URLSearchParams(parameters)}`),
      api.call('/shape', { body: new URLSearchParams(parameters) }),
      api.call('/shape', { body: form }),
    ]);
    const [first] = answers.map(({ json }) => json.data ?? json.error.details);
    for (const { json } of answers) expect(json.data ?? json.error.details).to.deep.equal(first);
    return first;
  }

  it('come out as what was meant', async () => {
    expect(await sent({ either: '{"a":1}' })).to.deep.equal({ either: { a: 1 } });
    expect(await sent({ either: 'a,b' })).to.deep.equal({ either: ['a', 'b'] });
    expect(await sent({ either: '["a,b"]' })).to.deep.equal({ either: ['a,b'] });
    expect(await sent({ shape: '{"kind":"square","side":2}' })).to.deep.equal({
      shape: { kind: 'square', side: 2 },
    });
  });

  it('are refused by the alternative that was meant, in JSON as in text', async () => {
    for (const [value, field, problem] of [
      [{ either: { a: 'x' } }, 'either.a', /^must be a number of at most 1000, but is the string "x"$/],
      [{ either: { aa: 1 } }, 'either.aa', /^is not known here/],
      [{ shape: { kind: 'circle' } }, 'shape.r', /^is required: a number/],
      [{ shape: { kind: 'circle', r: 1, side: 1 } }, 'shape.side', /^is not known here/],
      [
        { shape: { kind: 'oval' } },
        'shape.kind',
        /^must be one of circle, square, but is the string "oval"$/,
      ],
      [{ shape: { r: 1 } }, 'shape.kind', /^is required: one of circle, square$/],
    ] as [Record<string, unknown>, string, RegExp][]) {
      const texts = Object.entries(value).map(([name, each]): [string, string] => [
        name,
        JSON.stringify(each),
      ]);
      const { json } = await api.call('/shape', { body: value });
      for (const details of [json.error.details, await sent(Object.fromEntries(texts))]) {
        expect(details).to.have.length(1);
        expect(details[0].field).to.equal(field);
        expect(details[0].problem).to.match(problem);
      }
    }
  });
});

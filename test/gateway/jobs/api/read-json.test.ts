import { expect } from 'chai';
import { readJobJson } from '../../../../gateway/jobs/api/read-json.js';

describe('jobs/api: the JSON of a large body', () => {
  it('is read in stretches, between which others go on', async () => {
    const input = JSON.stringify({ text: 'x'.repeat(900) });
    const text = `{"service":"a","inputs":[${Array(5_000).fill(input)}]}`;
    let breaths = 0;
    const breathe = () => {
      breaths += 1;
      return undefined;
    };
    const body = Buffer.from(text);
    const { inputs } = await readJobJson(body, { maxTextBytes: 10_000 }, breathe);
    expect(inputs).to.have.length(5_000);
    expect(inputs?.every((each) => each.toString() === input)).to.equal(true);
    expect(
      inputs?.every(({ buffer }) => buffer === body.buffer),
      'parts of the body, not copies',
    ).to.equal(true);
    expect(breaths).to.be.within(text.length / 65_536 - 1, text.length / 65_536 + 2);
  });

  it('is not decoded for a name that is longer than that of any field', async () => {
    const names = Array.from({ length: 900 }, (_, at) => `"${'a'.repeat(20_000)}${at}":1`);
    const text = `{${names.join(',')},"service":"a","inputs":[{}]}`;
    const { parse } = JSON;
    let parsed = 0;
    JSON.parse = (...given) => {
      parsed += given[0].length;
      return parse(...given);
    };
    try {
      const { problems } = await readJobJson(Buffer.from(text), { maxTextBytes: 10_000 }, () => undefined);
      expect(problems).to.have.length(900);
      expect(problems[0]?.field).to.equal(`"${'a'.repeat(60)}…"`);
    } finally {
      JSON.parse = parse;
    }
    expect(parsed).to.be.below(100);
  });

  it('has the field that was meant looked for only as often as problems are reported', async () => {
    const names = Array.from({ length: 900 }, (_, at) => `"servicf${at % 10}":1`);
    const body = Buffer.from(`{${names.join(',')}}`);
    const { problems } = await readJobJson(body, { maxTextBytes: 10_000 }, () => undefined);
    expect(problems.filter(({ problem }) => problem.includes('did you mean'))).to.have.length(50);
  });
});

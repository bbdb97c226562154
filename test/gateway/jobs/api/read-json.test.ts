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
});

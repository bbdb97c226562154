import { expect } from 'chai';
import { codesIn, readText, rowsOf } from '../readme.js';
import { sampleMetrics } from './metrics/sample.js';

describe('gateway/README', () => {
  it('names every metric, and no other', async () => {
    const { body } = await sampleMetrics().metrics.text();
    const real = [...body.matchAll(/^# TYPE (helper_gateway_\w+) /gm)].map((match) => match[1]);
    const documented = rowsOf(readText('gateway/README.md')).flatMap(([first]) => codesIn(first));
    expect(documented.filter((name) => name.startsWith('helper_gateway_'))).to.have.members(real);
  });
});

import { expect } from 'chai';
import { tellCutDeadlines } from '../../../gateway/helpers/cut-deadlines.js';
import type { Helper } from '../../../gateway/helpers/registry.js';

describe('deadlines that are longer than a task’s', () => {
  it('are told once a helper, and no others', () => {
    const told: unknown[] = [];
    const helpers = [undefined, 100, 1000, 1001].map((timeoutMs) => {
      const id = `after-${timeoutMs}`;
      return [id, { id, declaration: { timeoutMs } } as Helper] as const;
    });
    tellCutDeadlines(new Map(helpers), 1000, { warn: (line: unknown) => void told.push(line) });
    expect(told).to.deep.equal([{ service: 'after-1001', timeoutMs: 1001, most: 1000 }]);
  });
});

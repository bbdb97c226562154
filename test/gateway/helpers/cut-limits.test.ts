import { expect } from 'chai';
import { logCutLimits } from '../../../gateway/helpers/cut-limits.js';
import type { Helper } from '../../../gateway/helpers/registry.js';

describe('limits of a declaration that the operator cuts', () => {
  it('are logged with both figures and the variable, and no others', () => {
    const lines: unknown[] = [];
    const helpers = [undefined, 100, 1000, 1001].map((most) => {
      const id = `after-${most}`;
      const files = [{ field: 'logo', maxBytes: most }];
      return [id, { id, declaration: { timeoutMs: most, files } } as unknown as Helper] as const;
    });
    const logger = { warn: (line: unknown) => void lines.push(line) };
    logCutLimits(new Map(helpers), { taskTimeoutMs: 1000, maxImageBytes: 1000 }, logger);
    const cut = { service: 'after-1001', declared: 1001, most: 1000 };
    expect(lines).to.deep.equal([
      { ...cut, field: 'timeoutMs', variable: 'HELPER_TASK_TIMEOUT_MS' },
      { ...cut, field: 'files.logo.maxBytes', variable: 'HELPER_MAX_IMAGE_BYTES' },
    ]);
  });
});

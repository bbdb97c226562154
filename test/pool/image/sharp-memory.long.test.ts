import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const child = fileURLToPath(new URL('./sharp-memory-child.js', import.meta.url));

describe('memory of the sharp engine', function () {
  this.timeout(300_000);

  it('is given back after each picture', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [child, '200']);
    const { encoded, grown } = JSON.parse(stdout) as { encoded: number; grown: number };
    expect(encoded).to.be.greaterThan(30 * 2 ** 20);
    expect(grown).to.be.lessThan(encoded / 2);
  });
});

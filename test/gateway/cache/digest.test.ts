import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { digestOf, digestOfFile, digestsOf } from '../../../gateway/cache/digest.js';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('base64url');

describe('the digest of bytes', () => {
  for (const size of [0, 1, 128 * 1024, 128 * 1024 + 1, 3_000_000]) {
    it(`is the SHA-256 of ${size} bytes, wherever they are hashed`, async () => {
      const bytes = randomBytes(size);
      expect(await digestOf(bytes)).to.equal(sha256(bytes));
    });
  }

  it('is of the view alone, not of the memory around it', async () => {
    const memory = randomBytes(1_000_000);
    const view = memory.subarray(1000, 900_000);
    expect(await digestOf(view)).to.equal(sha256(view));
  });

  it('is there at once for what is small', () => {
    const files = [100, 1000].map((size) => ({ bytes: randomBytes(size), type: 'image/png' }));
    expect(digestsOf(files)).to.deep.equal(files.map(({ bytes }) => sha256(bytes)));
  });

  it('is made once of what several calls use', async () => {
    const bytes = randomBytes(1_000_000);
    const shared = { bytes, type: 'image/png', shared: true } as const;
    const first = digestOfFile(shared);
    expect(digestOfFile({ ...shared, name: 'other' })).to.equal(first);
    expect(await first).to.equal(sha256(bytes));
    expect(digestOfFile({ bytes, type: 'image/png' })).not.to.equal(first);
  });
});

import { Readable } from 'node:stream';
import { expect } from 'chai';
import { createDiscard } from '../../../../gateway/http/server/discard.js';

describe('createDiscard', () => {
  it('drops a bounded number of bytes in a turn of the event loop, however many streams give some', async () => {
    const discard = createDiscard();
    const chunk = Buffer.alloc(64 * 1024);
    const chunks = 16;
    let [now, most, all, ended] = [0, 0, 0, 0];
    const streams = Array.from({ length: 60 }, () => Readable.from(Array(chunks).fill(chunk)));
    const ends = streams.map((stream) => {
      discard(stream, (bytes) => {
        now += bytes;
      });
      return new Promise((resolve) => stream.once('end', resolve)).then(() => (ended += 1));
    });
    while (ended < streams.length) {
      await new Promise(setImmediate);
      most = Math.max(most, now);
      all += now;
      now = 0;
    }
    await Promise.all(ends);
    expect(all).to.equal(streams.length * chunks * chunk.length);
    // Two megabytes, and a chunk or two of each stream before it was stopped.
    expect(most).to.be.within(chunk.length, 12 * 1024 * 1024);
  });
});

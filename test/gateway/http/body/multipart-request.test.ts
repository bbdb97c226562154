import { Readable } from 'node:stream';
import { expect } from 'chai';
import { readMultipart } from '../../../../gateway/http/body/multipart.js';
import { heldBeyond, heldMemory } from '../../../held-memory.js';
import { rejection } from '../../source/raw-server.js';
import { close, limits, part } from './form-body.js';

const type = 'multipart/form-data; boundary=b';

describe('the request that readMultipart reads', () => {
  const open = () => new Readable({ read() {} });
  const start = (request: Readable, signal?: AbortSignal) =>
    readMultipart(request, type, limits, { fileFields: ['file'], signal });

  /** Only the one listener that keeps an error from ending the process is left, and nothing is read any more. */
  function expectLeft(request: Readable): void {
    for (const event of ['data', 'end', 'close']) expect(request.listenerCount(event), event).to.equal(0);
    expect(request.listenerCount('error')).to.equal(1);
    expect(request.destroyed).to.equal(false);
  }

  it('is left paused and whole after a refusal, for the caller to read the rest', async () => {
    const request = open();
    const reading = start(request);
    request.push('--b\r\nnonsense\r\n\r\n');
    expect(await rejection(reading)).to.have.property('code', 'invalid_input');
    expectLeft(request);
    expect(request.isPaused()).to.equal(true);
    request.push('the rest');
    request.push(null);
    expect(await request.toArray()).to.have.length(1);
  });

  it('is let go at once when the signal is aborted, with its reason', async () => {
    const request = open();
    const caller = new AbortController();
    const reading = start(request, caller.signal);
    request.push(part('a', 'x'));
    caller.abort(new Error('client gone'));
    expect((await rejection(reading)).message).to.equal('client gone');
    expectLeft(request);
  });

  it('is not read for a caller who has gone', async () => {
    const request = open();
    expect((await rejection(start(request, AbortSignal.abort(new Error('gone'))))).message).to.equal('gone');
    expectLeft(request);
  });

  it('may fail, before and after the promise is settled', async () => {
    const request = open();
    const reading = start(request);
    request.destroy(new Error('reset'));
    expect(await rejection(reading)).to.have.property('code', 'invalid_input');
    expect(await rejection(start(request))).to.have.property('code', 'invalid_input');
    const refused = open();
    const refusing = start(refused);
    refused.push('--b\r\nnonsense\r\n\r\n');
    await rejection(refusing);
    refused.destroy(new Error('reset'));
    await new Promise(setImmediate);
  });

  it('may close without an end', async () => {
    const request = open();
    const reading = start(request);
    request.push(part('a', 'x'));
    request.destroy();
    expect(await rejection(reading)).to.have.property('code', 'invalid_input');
  });

  it('holds nothing of a refused upload, while its error lives on', async () => {
    const before = heldMemory();
    const errors: Error[] = [];
    for (let at = 0; at < 5; at++) {
      const request = open();
      const reading = readMultipart(
        request,
        type,
        { ...limits, maxFileBytes: 8_000_000 },
        { fileFields: ['file'] },
      );
      request.push(part('file', '', '; filename="x"').slice(0, -2));
      for (let piece = 0; piece < 81; piece++) request.push(Buffer.alloc(100_000));
      errors.push(await rejection(reading));
      request.destroy();
    }
    expect(await heldBeyond(before, 9_000_000)).to.be.below(9_000_000);
    for (const error of errors) expect(error).to.have.property('code', 'too_large');
  });

  it('has no listener left but one after success', async () => {
    const request = open();
    const caller = new AbortController();
    const reading = start(request, caller.signal);
    request.push(part('a', 'x') + close);
    request.push(null);
    expect((await reading).fields.size).to.equal(1);
    caller.abort();
    expect(request.listenerCount('data') + request.listenerCount('end')).to.equal(0);
  });
});

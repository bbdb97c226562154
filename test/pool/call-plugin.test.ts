import { expect } from 'chai';
import { type CallOptions, callPlugin } from '../../pool/call-plugin.js';
import { PlainScope } from './context/plain-scope.js';

describe('callPlugin', () => {
  it('reads the engine, which may then be loaded, for a picture alone', async () => {
    let reads = 0;
    const options: CallOptions = {
      get engine() {
        reads += 1;
        return Promise.reject(new Error('no engine'));
      },
      limits: { maxPixels: 1e6, maxFrames: 10 },
      maxJsonBytes: 1000,
    };
    const context = { service: 'some', request_id: 'r' };
    const call = (source?: 'image') =>
      callPlugin(
        {
          service: 'some',
          plugin: { source, handler: () => ({}) },
          shipped: false,
          parts: { config: {}, state: undefined, redactor: undefined },
        },
        {
          kind: 'call',
          plugin: 'file:///some.mjs',
          does: 'handler',
          input: {},
          context,
          files: { file: { bytes: new Uint8Array(1), type: 'image/png' } },
        },
        new PlainScope(),
        options,
      );
    await call();
    expect(reads).to.equal(0);
    const error = await call('image').catch((thrown) => thrown);
    expect([error.message, reads]).to.deep.equal(['no engine', 1]);
  });
});

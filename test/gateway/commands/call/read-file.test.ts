import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createInput, readUpload } from '../../../../gateway/commands/call/read-file.js';

describe('a file of the command line', () => {
  const input = () => createInput(Readable.from([Buffer.from('a,b\n')]), 100);
  const types = ['text/*', 'text/csv'];

  it('is of the type that its name says', async () => {
    const path = fileURLToPath(new URL('../../../../../package.json', import.meta.url));
    const { type, name, bytes } = await readUpload(path, { field: 'table', types }, input());
    expect([type, name]).to.deep.equal(['application/json', 'package.json']);
    // Read no further than a call may bring, and one byte, so that it is seen to be too long.
    expect(bytes.length).to.be.above(100);
  });

  it('is without a name what its field takes', async () => {
    const read = (field: Parameters<typeof readUpload>[1]) => readUpload('-', field, input());
    expect((await read({ field: 'table', types })).type).to.equal('text/csv');
    expect((await read({ field: 'file' })).type).to.equal('application/octet-stream');
  });
});

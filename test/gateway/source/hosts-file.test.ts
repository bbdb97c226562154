import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createHostsFile, parseHosts } from '../../../gateway/source/hosts-file.js';

describe('createHostsFile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
  const path = join(folder, 'hosts');
  after(() => rmSync(folder, { recursive: true }));

  it('lists nothing while there is no file, and reads it again when it changes', () => {
    const lookUp = createHostsFile(path);
    expect(lookUp('a.example')).to.deep.equal([]);
    writeFileSync(path, '10.0.0.1 a.example\n');
    expect(lookUp('a.example')).to.deep.equal(['10.0.0.1']);
    writeFileSync(path, '10.0.0.22 a.example\n');
    expect(lookUp('a.example')).to.deep.equal(['10.0.0.22']);
  });

  it('reads aliases, comments, any case, several lines of one name, and passes over what is no address', () => {
    const names = parseHosts(
      '# x\n\n127.0.0.1\tA.example b.example # c.example\n::1 a.example\r\nnonsense d.example\n1.1.1.1\n',
    );
    expect(Object.fromEntries(names)).to.deep.equal({
      'a.example': ['127.0.0.1', '::1'],
      'b.example': ['127.0.0.1'],
    });
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import {
  readBytes,
  readCount,
  readNumber,
  readOrigins,
  readOriginsOrAll,
  readPaths,
  readUrl,
} from '../../../schemas/config/forms.js';
import { anyCharacter } from '../../examples.js';

describe('forms of variables', () => {
  it('reads sizes in bytes and in units of 1024', () => {
    const sizes = ['10485760', '10MB', '10 MB', '10mib', '512KB', '1GB', '1.5MB', '7B'];
    expect(sizes.map(readBytes)).to.deep.equal([
      10485760, 10485760, 10485760, 10485760, 524288, 1073741824, 1572864, 7,
    ]);
    for (const text of ['', '10M', 'MB', '-1', '1e3', '10  MB', '10XB'])
      expect(readBytes(text), text).to.equal(undefined);
  });

  it('reads counts in thousands', () => {
    expect(['40M', '40 M', '250', '1.5k', '1G'].map(readCount)).to.deep.equal([40e6, 40e6, 250, 1500, 1e9]);
    for (const text of ['', 'M', '40MB', '-1']) expect(readCount(text), text).to.equal(undefined);
  });

  it('reads plain numbers only', () => {
    expect(['0', '8080', '0.5'].map(readNumber)).to.deep.equal([0, 8080, 0.5]);
    for (const text of ['-1', '1e3', '0x10', 'Infinity', '8080 ', ''])
      expect(readNumber(text), text).to.equal(undefined);
  });

  it('reads origins as URL writes them', () => {
    expect(readOrigins('http://127.0.0.1:9100, HTTPS://Images.Example:443/')).to.deep.equal([
      'http://127.0.0.1:9100',
      'https://images.example',
    ]);
    expect(readOrigins('http://[::1]:9100')).to.deep.equal(['http://[::1]:9100']);
    for (const text of [
      'http://a/b',
      'http://a?b',
      'http://a#b',
      'http://u:p@a',
      'ftp://a',
      'a.example',
      'http://',
      'http://a\\b',
      'http://a b',
      'http://a\tb',
      '*',
      'http://a:99999',
      'http://ok.example,nonsense',
    ]) {
      expect(readOrigins(text), text).to.equal(undefined);
    }
    expect(readOriginsOrAll('*')).to.deep.equal(['*']);
    expect(readOriginsOrAll('https://a.example,*')).to.equal(undefined);
  });

  it('reads paths between colons', () => {
    expect(readPaths('/a:b/c::/d')).to.deep.equal(['/a', 'b/c', '/d']);
  });

  it('reads addresses with the right scheme', () => {
    const read = readUrl('redis', 'rediss');
    expect(read('rediss://:secret@host:6379/1')).to.equal('rediss://:secret@host:6379/1');
    for (const text of ['http://host', 'redis:host', 'redis://ho st'])
      expect(read(text), text).to.equal(undefined);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        for (const read of [readBytes, readCount, readNumber, readOriginsOrAll, readPaths, readUrl('redis')])
          read(text);
        readOrigins(`http://${text}`);
      }),
    );
  });
});

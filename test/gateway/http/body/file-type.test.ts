import { expect } from 'chai';
import { fileType } from '../../../../gateway/http/body/file-type.js';

describe('the media type of a file', () => {
  it('is what its sender says', () => {
    expect(fileType('text/plain; charset=utf-8', 'table.csv')).to.equal('text/plain; charset=utf-8');
  });

  it('is what its name says where its sender does not know', () => {
    for (const said of ['', 'application/octet-stream', 'Application/Octet-Stream; a=b']) {
      expect(fileType(said, 'table.csv')).to.equal('text/csv');
    }
  });

  it('is unknown where nobody says', () => {
    expect(fileType('', undefined)).to.equal('application/octet-stream');
    expect(fileType('application/octet-stream', 'table')).to.equal('application/octet-stream');
  });
});

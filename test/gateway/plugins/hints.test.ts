import { expect } from 'chai';
import { loadHint } from '../../../gateway/plugins/hints.js';

/** Node's own words, which differ between its versions where there are several. */
const told: [message: string, hint: string][] = [
  ["Cannot find package 'qrcode' imported from /srv/helpers/qr.mjs", 'npm install qrcode'],
  ["Cannot find package 'helper-gateway' imported from /srv/x.mjs", '"helper-gateway/helper"'],
  ['module is not defined in ES module scope', 'write "export default { summary, input, handler }"'],
  ['exports is not defined in ES module scope', 'write "export default { summary, input, handler }"'],
  ['__dirname is not defined in ES module scope', 'write "import.meta.dirname"'],
  ['Module "file:///srv/_d.json" needs an import attribute of type "json"', "with { type: 'json' }"],
  ['Module "file:///srv/_d.json" needs an import attribute of "type: json"', "with { type: 'json' }"],
  ['defineHelper is not defined', `write "import { defineHelper } from 'helper-gateway/helper'"`],
  ['pictureOutputRules is not defined', `import { pictureOutputRules } from 'helper-gateway/helper'`],
  ['text/x did not settle within 30000 ms', 'something that it awaits at its top never comes'],
];

describe('loadHint', () => {
  for (const [message, hint] of told) {
    it(`says what to write for: ${message}`, () => {
      expect(loadHint(new Error(message)))
        .to.match(/^; /)
        .and.include(hint);
    });
  }

  it('has nothing to say of what a plugin itself has thrown', () => {
    expect(loadHint(new Error('no database'))).to.equal('');
    expect(loadHint(new ReferenceError('words is not defined'))).to.equal('');
  });
});

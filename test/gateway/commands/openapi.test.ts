import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { documentOf } from '../docs/openapi/document-of.js';
import { runCommand } from '../gateway-process.js';

describe('commands: openapi', function () {
  this.timeout(30_000);
  it('prints what a gateway with these plugins would serve, and nothing else', async () => {
    const folders = ['openapi', 'printing'].map((name) => fixture(`plugins/${name}`));
    const env = { HELPER_PLUGINS: folders.join(':'), HELPER_API_URL: 'https://api.example.com' };
    const { code, stdout } = await runCommand(['openapi'], env);
    expect(code).to.equal(0);
    const printed = JSON.parse(stdout);
    // Not loaded here, as one of these prints while it is.
    const { document } = await documentOf(folders.slice(0, 1));
    expect(printed.paths).to.include.keys('/prints', ...Object.keys(document.paths));
    expect(printed.paths['/nasty']).to.deep.equal(JSON.parse(JSON.stringify(document.paths['/nasty'])));
    expect(printed.servers).to.deep.equal([{ url: 'https://api.example.com' }]);
  });

  it('says which plugin cannot be described', async () => {
    const env = { HELPER_PLUGINS: fixture('plugins/bad/schema') };
    const { code, stdout } = await runCommand(['openapi', '--json'], env);
    expect(code).to.equal(1);
    const { ok, error } = JSON.parse(stdout);
    expect(ok).to.equal(false);
    expect(error.details[0].field).to.match(/broken\.js$/);
  });
});

import { expect } from 'chai';
import { runCommand } from '../gateway-process.js';

// A start that a bad variable ends at once: which command ran is all that matters here.
const env = { HELPER_POOL_THREADS: '-1' };

describe('the command line', function () {
  this.timeout(30_000);
  for (const args of [[], ['--json']]) {
    it(`serves: ${args.join(' ') || 'no command at all'}`, async () => {
      const { code, stderr } = await runCommand(args, env);
      expect(stderr).to.include('HELPER_POOL_THREADS');
      expect(code).to.equal(1);
    });
  }

  it('says the nearest where a command is not known', async () => {
    const { code, stdout, stderr } = await runCommand(['plugin'], env);
    expect(stderr).to.include("unknown command 'plugin'").and.include('Did you mean plugins?');
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' });
  });

  it('refuses an option of no command', async () => {
    const { code, stderr } = await runCommand(['--jsn'], env);
    expect(stderr).to.include("unknown option '--jsn'");
    expect(code).to.equal(2);
  });
});

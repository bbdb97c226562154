import { expect } from 'chai';
import { Command } from 'commander';
import { actorName } from '../../../gateway/commands/open.js';
import { registerOperatorCommands } from '../../../gateway/commands/operator.js';

describe('commands/operator', () => {
  it('reset says for the audit log whose doing it was, and prints the password alone', async () => {
    const resets: unknown[][] = [];
    let [stdout, stderr, closed] = ['', '', 0];
    const program = new Command('helper-gateway');
    registerOperatorCommands(
      program,
      async () => ({
        async reset(...given) {
          resets.push(given);
          return { email: 'ada@example.com', password: 'one-two-three' };
        },
        async close() {
          closed += 1;
        },
      }),
      {
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: (text) => (stderr += text) },
        setExitCode() {},
        exit: (code) => expect.fail(`ended with ${code}`),
      },
    );
    await program.parseAsync(['operator', 'reset', '--email', 'ada@example.com'], { from: 'user' });
    expect(resets).to.deep.equal([['ada@example.com', actorName()]]);
    expect(actorName()).to.match(/^cli:./);
    expect(stdout).to.equal('one-two-three\n');
    expect(stderr).to.include('ada@example.com now signs in with this password');
    expect(closed).to.equal(1);
  });
});

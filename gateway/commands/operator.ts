import type { Command } from 'commander';
import type { Credentials } from '../site/accounts/first-operator.js';
import { actorName } from './open.js';
import { answer, jsonOption, type Terminal, usageErrors } from './output.js';

/** What the command works on; closed at its end. */
export interface OpenedOperators {
  reset(email: string | undefined, actor: string): Promise<Credentials>;
  close(): Promise<void>;
}

/** `operator reset`: the way back into the key-management site for whoever can reach its database. */
export function registerOperatorCommands(
  program: Command,
  open: () => Promise<OpenedOperators>,
  terminal: Terminal,
): void {
  const operator = usageErrors(program.command('operator'), terminal);
  operator.description('Manage the sign-in of the key-management site’s operators.');
  operator
    .command('reset')
    .description(
      'Give an operator a new password and end their sessions; the password is the last line on stdout.',
    )
    .option('--email <address>', 'which operator; the first one by default')
    .option(...jsonOption)
    .action(({ email, json }: { email?: string; json?: boolean }) =>
      answer(terminal, json === true, async () => {
        const operators = await open();
        try {
          const credentials = await operators.reset(email, actorName());
          return {
            data: { ...credentials },
            notes: [`${credentials.email} now signs in with this password. It is shown this once:`],
            result: credentials.password,
          };
        } finally {
          await operators.close();
        }
      }),
    );
}

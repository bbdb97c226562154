import type { Command } from 'commander';
import { GatewayError } from '../errors.js';
import type { Person } from '../site/accounts/people.js';
import { parseExpiry, withOpened } from './open.js';
import type { openPeople } from './open-admin.js';
import { type Answer, type JsonOption, jsonOption, type Terminal, usageErrors } from './output.js';
import { commandName } from './process.js';
import { answerRows } from './records.js';

type OpenPeople = typeof openPeople;
type Opened = Awaited<ReturnType<OpenPeople>>;

/** Adds the commands about who may use the key-management site: `operator`, `members` and `tokens`. */
export function registerAccessCommands(program: Command, open: OpenPeople, terminal: Terminal): void {
  const withPeople = (options: JsonOption, work: (opened: Opened, actor: string) => Promise<Answer>) =>
    withOpened(open, terminal, options, work);
  const add = (parent: Command, name: string, description: string) =>
    parent
      .command(name)
      .description(description)
      .option(...jsonOption);

  const operator = usageErrors(program.command('operator'), terminal);
  operator.description(
    'Manage the sign-in of the key-management site’s operators, and show what signs their notices.',
  );
  add(
    operator,
    'reset',
    'Give an operator a new password, end their sessions and second factor; the password is the last line on stdout.',
  )
    .option('--email <address>', 'which operator; the first one by default')
    .action(({ email, ...options }: JsonOption & { email?: string }) =>
      withPeople(options, async (opened, actor) => {
        const credentials = await opened.reset(email, actor);
        const notes = [`${credentials.email} now signs in with this password. It is shown this once:`];
        return { data: { ...credentials }, notes, result: credentials.password };
      }),
    );

  add(
    operator,
    'notices-secret',
    'Show what signs the notices to HELPER_NOTICES_URL. The secret is the last line on stdout, alone.',
  ).action((options: JsonOption) =>
    withPeople(options, async (opened, actor) => {
      const secret = await opened.noticesSecret(actor);
      const notes = ['By this secret a receiver checks that what came to HELPER_NOTICES_URL is from here.'];
      return { data: { ...secret }, notes, result: secret.webhook_secret };
    }),
  );

  const members = usageErrors(program.command('members'), terminal);
  members.description('List, invite and remove the people of a tenant.');
  add(members, 'list', 'List the people of a tenant, with their roles.')
    .argument('<tenant>', 'from tenants list')
    .action((tenant: string, options: JsonOption) =>
      withPeople(options, async ({ people, tenantId }) => {
        const found = await people.of(await tenantId(tenant));
        const hint = `${tenant} has no members. Invite one: ${commandName()} members invite ${tenant} EMAIL`;
        return answerRows(
          'members',
          ['email', 'role', 'second_factor', 'since'],
          found.map(viewMember),
          hint,
        );
      }),
    );
  add(
    members,
    'invite',
    'Invite somebody to a tenant. The link, which works once, is the last line on stdout.',
  )
    .argument('<tenant>', 'from tenants list')
    .argument('<email>', 'for whom it is; the link is not sent')
    .option('--role <role>', 'member, or viewer, who changes nothing', 'member')
    .action((tenant: string, email: string, { role, ...options }: JsonOption & { role: string }) =>
      withPeople(options, async ({ members, tenantId, siteUrl }, actor) => {
        const made = await members.invite(await tenantId(tenant), { note: email, role }, actor);
        const link = `${siteUrl}/join/${made.token}`;
        const notes = [`Send ${email} this link. It makes one person a ${made.role}, once, within 7 days:`];
        return { data: { tenant, email, role: made.role, link }, notes, result: link };
      }),
    );
  add(members, 'remove', 'Remove somebody from a tenant; open invitations that they made end.')
    .argument('<tenant>', 'from tenants list')
    .argument('<email>', 'from members list')
    .action((tenant: string, email: string, options: JsonOption) =>
      withPeople(options, async ({ people, members, tenantId }, actor) => {
        const group = await tenantId(tenant);
        const person = (await people.of(group)).find((each) => each.email === email.toLowerCase());
        if (!person) throw new GatewayError('not_found', { message: `${tenant} has no member ${email}.` });
        await members.remove(group, person.id, actor);
        return { data: { tenant, email: person.email }, result: `Removed ${person.email} from ${tenant}.` };
      }),
    );

  const tokens = usageErrors(program.command('tokens'), terminal);
  tokens.description('Make, list and revoke tokens of programs for the JSON API and /metrics.');
  add(tokens, 'create', 'Make a token. It is the last line on stdout, this once.')
    .argument('<label>', 'which program uses it; the audit log names it so')
    .option('--role <role>', 'operator, or support, which reads and sees no secret', 'support')
    .option('--expires <time>', 'an ISO 8601 day or time, or a time from now such as 30d')
    .action((label: string, options: JsonOption & { role: string; expires?: string }) =>
      withPeople(options, async ({ createToken }, actor) => {
        const { role, expires } = options;
        const expires_at = expires === undefined ? undefined : parseExpiry(expires, Date.now());
        const made = await createToken({ label, role, expires_at }, actor);
        const notes = [`The ${made.role} token ${made.id} of ${label}. It is shown this once:`];
        return { data: { ...made }, notes, result: made.token };
      }),
    );
  add(tokens, 'list', 'List the tokens, newest first, without their secrets.').action((options: JsonOption) =>
    withPeople(options, async ({ tokens }) => {
      const columns = ['id', 'role', 'expires_at', 'last_used_at', 'label'];
      const hint = `There is no token yet. Make one: ${commandName()} tokens create LABEL`;
      return answerRows('tokens', columns, await tokens.list(), hint);
    }),
  );
  add(tokens, 'revoke', 'Revoke a token for good.')
    .argument('<id>', 'from tokens list')
    .action((id: string, options: JsonOption) =>
      withPeople(options, async ({ tokens }, actor) => {
        const token = await tokens.revoke(id, actor);
        return { data: { ...token }, result: `Revoked the token of ${token.label}.` };
      }),
    );
}

function viewMember({ email, name, role, second_factor, since }: Person) {
  return { email, name, role, second_factor, since: new Date(since).toISOString() };
}
